// Formats a short text.
#pragma once

#include <cstdio>
#include <string>

namespace frame_loop {

// Formats values as printf does. The result has at most 199 characters.
template <class... Values>
std::string Format(const char *format, Values... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

}  // namespace frame_loop
