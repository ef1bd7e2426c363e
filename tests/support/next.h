// The mark of promises that weft does not keep yet. Catch2 has tags for that: see tests/README.md.
#pragma once

#include <cstring>

namespace test {

/// Returns true if `text`, which says what is checked, begins with "[next]". Then the check must
/// fail.
inline bool IsNext(const char *text) { return std::strncmp(text, "[next]", 6) == 0; }

}  // namespace test
