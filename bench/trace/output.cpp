// Implements output.h.
#include "trace/output.h"

#include "trace/utf8.h"

#include <cstdarg>
#include <cstdio>

namespace trace {

void Print(std::ostream &out, const char *format, ...) {
    char room[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(room, sizeof room, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if (static_cast<size_t>(length) < sizeof room) {
        out.write(room, length);
        return;
    }
    std::string text(static_cast<size_t>(length) + 1, '\0');
    va_start(arguments, format);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    out.write(text.data(), length);
}

std::string Quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : ValidUtf8(text)) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) {
            result += c;
        } else {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            result += code;
        }
    }
    return result + '"';
}

std::string Microseconds(int64_t ns) {
    char text[32];
    const auto absolute = static_cast<unsigned long long>(ns < 0 ? -ns : ns);
    std::snprintf(text, sizeof text, "%s%llu.%03llu", ns < 0 ? "-" : "", absolute / 1000,
                  absolute % 1000);
    return text;
}

}  // namespace trace
