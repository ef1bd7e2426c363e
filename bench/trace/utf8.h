// Texts of a program that need not be UTF-8: names of tasks, titles, paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace trace {

/// Returns how many bytes the character at the beginning of a text has, or 0 if it is not valid
/// UTF-8. The text is not empty.
inline size_t LengthOfCharacter(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return 1;
    const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
    uint32_t code = byte(0) & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool isGood = code >= kLeast[length] && code <= 0x10ffff && (code >> 11) != 0xd800 >> 11;
    return isGood ? length : 0;
}

/// Returns the text with an escape, such as \xff, for each byte that is not valid UTF-8.
inline std::string ValidUtf8(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const size_t length = LengthOfCharacter(text);
        if (length != 0) {
            result.append(text.substr(0, length));
        } else {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text[0]));
            result += escape;
        }
        text.remove_prefix(length != 0 ? length : 1);
    }
    return result;
}

}  // namespace trace
