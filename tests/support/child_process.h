// Runs code in a child process, for code that is expected to end its process.
#pragma once

#include <functional>
#include <string>

namespace test {

struct ChildResult {
    bool exited = false;  ///< with exit, and `code`
    int code = 0;
    /// Otherwise the signal that ended it. On Windows SIGSEGV stands for any system exception.
    int signal = 0;
    std::string output;  ///< what the child wrote to stderr
    bool Died() const { return signal != 0 || code != 0; }
};

/// Forks. The child runs `body` and exits with 0. No other thread may be running. On Windows there
/// is no fork: the child runs the test case again up to this call, so the code before it must do
/// the same each time.
ChildResult RunInChild(const std::function<void()> &body);

/// For children: after this time a signal ends the process.
void EndAfter(unsigned seconds);

}  // namespace test
