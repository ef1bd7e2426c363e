// Runs code that is expected to end its process.
#pragma once

#include <functional>
#include <string>

namespace test {

struct ChildResult {
    bool exited = false;  ///< by exit, with `code`
    int code = 0;
    int signal = 0;      ///< else by this signal
    std::string output;  ///< what it wrote to stderr
    bool Died() const { return signal != 0 || code != 0; }
};

/// Forks; the child runs `body` and exits with 0. No other thread may be running.
ChildResult RunInChild(const std::function<void()> &body);

}  // namespace test
