// Runs code that is expected to end its process.
#pragma once

#include <functional>
#include <string>

namespace test {

struct ChildResult {
    bool exited = false;  ///< by exit, with `code`
    int code = 0;
    /// Else by this signal; on Windows SIGSEGV stands for any exception of the system's
    int signal = 0;
    std::string output;  ///< what it wrote to stderr
    bool Died() const { return signal != 0 || code != 0; }
};

/// Forks; the child runs `body` and exits with 0. No other thread may be running. Where there is no
/// fork the child runs the test case again, up to here: what comes before must be the same each
/// time.
ChildResult RunInChild(const std::function<void()> &body);

/// For children: it is found dead of a signal when so much time has passed.
void EndAfter(unsigned seconds);

}  // namespace test
