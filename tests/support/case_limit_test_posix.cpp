#include "case_limit.h"
#include "support/report_log.h"
#include "support/scheduler_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Waits for what no task does.
void NeverEnd() {
    SchedulerOptions options = test::Options(1);
    options.onReport = [](const Report &, void *) {};  // also of the stall
    Counter counter(1);
    auto main = [&](TaskScheduler *scheduler) { scheduler->WaitForCounter(&counter); };
    const Task task = MakeTask(main);
    TaskScheduler(options).Run(task.function, task.arg, test::Named("sleeping beauty"));
}

}  // namespace

// The test program runs this test case again, in a process of its own, without time for it.
TEST_CASE("case limit: a test case that never ends is given up, with what its tasks wait for",
          "[case_limit]") {
    if (std::getenv("WEFT_NEVER_ENDS") != nullptr) NeverEnd();
    char self[4096] = {};
    REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    const std::string command =
        std::string("WEFT_NEVER_ENDS=1 WEFT_SLOWDOWN=0 '") + self + "' '[case_limit]' 2>&1";
    std::string output;
    FILE *program = popen(command.c_str(), "r");
    REQUIRE(program != nullptr);
    for (int read; (read = std::fgetc(program)) != EOF;) output += static_cast<char>(read);
    const int status = pclose(program);
    INFO(output);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == test::kCaseLimitCode);
    CHECK(test::Names(output, "given up: test case \"case limit: a test case that never ends"));
    CHECK(test::Names(output, "the task 'sleeping beauty' on fiber"));
    CHECK(test::Names(output, "\n0 passed, 1 failed\n"));
}
