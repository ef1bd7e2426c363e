// The time limit of a test case. A process whose test case exceeds it says why and ends.
#pragma once

#include <cstddef>
#include <string>

namespace test {

/// The exit code of a process whose test case was given up.
inline constexpr int kCaseLimitCode = 99;

/// Begins the time of a test case: 60 seconds, or 600 if `isLong`. Sanitizers and the environment
/// variable WEFT_SLOWDOWN (a factor, for emulators) make it longer.
///
/// At its end a thread prints the name of the test case, what the tasks of all schedulers wait for,
/// and the summary of the run, in which this case has failed. Then the process ends.
void BeginCase(const std::string &name, bool isLong);

/// Ends the time of the test case, and counts it for the summary.
void EndCase(bool passed);

/// Does at once what happens at the end of the time. For a test that knows that it would hang.
/// Thread-safe.
[[noreturn]] void GiveUpCase(const std::string &why);

}  // namespace test
