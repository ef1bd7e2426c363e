// RunInChild with fork. The parent collects what the child writes to stderr, and how it ends.
#include "support/child_process.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace test {

ChildResult RunInChild(const std::function<void()> &body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(60);
        body();
        _exit(0);
    }
    close(ends[1]);
    ChildResult result;
    char buffer[512];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
        result.output.append(buffer, static_cast<size_t>(got));
    }
    close(ends[0]);
    // qemu's user emulation adds a line when a signal ends a process.
    const size_t remark = result.output.find("qemu: uncaught target signal ");
    if (remark != std::string::npos) result.output.erase(remark);
    int status = 0;
    waitpid(child, &status, 0);
    result.exited = WIFEXITED(status);
    result.code = result.exited ? WEXITSTATUS(status) : 0;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return result;
}

void EndAfter(unsigned seconds) { alarm(seconds); }

}  // namespace test
