// Writes formatted text to a stream.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace trace {

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void Print(std::ostream &out, const char *format, ...);

/// Returns the text as a JSON string, with its quotation marks. A byte that is not valid UTF-8
/// becomes an escape, such as \xff.
std::string Quoted(const std::string &text);

/// Returns nanoseconds as microseconds with three decimals, without rounding.
std::string Microseconds(int64_t ns);

}  // namespace trace
