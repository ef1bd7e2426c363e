#include "case_limit.h"
#include "platform/compiler.h"
#include "platform/sanitizers.h"
#include "support/scheduler_run.h"

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Without optimisation clang makes frames twice as large; AddressSanitizer, several times.
#if defined(WEFT_ASAN)
constexpr uint32_t kDepth = 500;
#elif defined(WEFT_DEBUG) && defined(__clang__) && !defined(__OPTIMIZE__)
constexpr uint32_t kDepth = 2500;
#else
constexpr uint32_t kDepth = 5000;
#endif

struct Level {
    uint32_t depth;
    uint64_t sum = 0;
    uintptr_t frame = 0;  // of its call; AddressSanitizer may keep variables elsewhere
    size_t bytes = 0;     // what one level takes of a stack: the distance of the last two
};

void Descend(TaskScheduler *scheduler, void *arg) {
    Level &level = *static_cast<Level *>(arg);
    level.frame = reinterpret_cast<uintptr_t>(WEFT_FRAME_ADDRESS());
    if (level.depth == 0) return;
    Level below{level.depth - 1};
    const Task task{Descend, &below};
    scheduler->AddTasksAndWait(1, &task);
    level.sum = below.sum + 1;
    level.bytes = level.depth == 1 ? level.frame - below.frame : below.bytes;
}

void DescendInTwoCalls(TaskScheduler *scheduler, void *arg) {
    Level &level = *static_cast<Level *>(arg);
    if (level.depth == 0) return;
    Level below{level.depth - 1};
    const Task task{DescendInTwoCalls, &below};
    Counter counter;
    scheduler->AddTask(task, &counter);
    scheduler->WaitForCounter(&counter);
    level.sum = below.sum + 1;
}

// Without enough fibers no task could go on, and the run would never end.
void GiveUp(const Report &report, void *) {
    test::GiveUpCase(std::string(report.what) + ". " + report.hint);
}

Level RunLevels(SchedulerOptions options, uint32_t depth, TaskFunction descend) {
    options.onReport = GiveUp;
    TaskScheduler scheduler(options);
    Level top{depth};
    const Task task{descend, &top};
    auto main = [&](TaskScheduler *running) { running->AddTasksAndWait(1, &task); };
    const Task mainTask = MakeTask(main);
    CHECK(scheduler.Run(mainTask.function, mainTask.arg) == Status::Ok);
    return top;
}

void CheckWithDefaultOptions(TaskFunction descend) {
    for (const uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers);
        SchedulerOptions options;
        options.workers = workers;
        CHECK(RunLevels(options, kDepth, descend).sum == kDepth);
    }
}

}  // namespace

TEST_CASE("waits within waits: 5,000 levels with default options", "[exhaustion][helps]") {
    CheckWithDefaultOptions(Descend);
}

TEST_CASE("waits within waits: 5,000 levels of tasks that other workers may steal before the wait",
          "[exhaustion][rescue]") {
    CheckWithDefaultOptions(DescendInTwoCalls);
}

// A task runs on the stack of its waiter while `stackBytes` are left below. So each stack, of which
// twice as much is mapped, holds `stackBytes` of levels.
TEST_CASE("waits within waits: the fibers together hold as many levels as their stacks",
          "[exhaustion][helps]") {
    SchedulerOptions options;
    options.workers = 2;
    options.fibers = 2000;
    const size_t bytes = RunLevels(options, 4, Descend).bytes;
    REQUIRE(bytes > 0);
    const uint64_t all = options.fibers * uint64_t{options.stackBytes} / bytes;
    const auto depth = static_cast<uint32_t>(all - all / 4);
    CHECK(depth > options.fibers);  // some levels of each fiber
    CHECK(RunLevels(options, depth, Descend).sum == depth);
}
