// Bytes as text for a page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trace {

inline std::string Base64(const unsigned char *bytes, size_t count) {
    static const char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string result;
    result.reserve((count + 2) / 3 * 4);
    for (size_t i = 0; i < count; i += 3) {
        const size_t part = std::min<size_t>(count - i, 3);
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < part ? bytes[i + k] : 0u);
        for (size_t k = 0; k < 4; ++k)
            result += k <= part ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return result;
}

}  // namespace trace
