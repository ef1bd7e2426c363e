#include "support/scheduler_run.h"

#include <cstdint>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// AddressSanitizer makes the frames of functions several times as large.
#if defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kDepth = 500, kDeep = 6000;
#else
constexpr uint32_t kDepth = 5000, kDeep = 100000;
#endif

struct Level {
    uint32_t depth;
    uint64_t sum = 0;
};

void Descend(TaskScheduler *scheduler, void *arg) {
    Level &level = *static_cast<Level *>(arg);
    if (level.depth == 0) return;
    Level below{level.depth - 1};
    const Task task{Descend, &below};
    scheduler->AddTasksAndWait(1, &task);
    level.sum = below.sum + 1;
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

uint64_t DepthOf(const SchedulerOptions &options, uint32_t depth, TaskFunction descend = Descend) {
    test::Runner runner(options);
    Level top{depth};
    const Task task{descend, &top};
    CHECK(runner.Run([&](TaskScheduler &scheduler) { scheduler.AddTasksAndWait(1, &task); }) ==
          Status::Ok);
    CHECK(runner.log.Text() == "");
    return top.sum;
}

}  // namespace

TEST_CASE("waits within waits: 5,000 levels with default options", "[exhaustion][helps]") {
    for (const uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers);
        SchedulerOptions options;
        options.workers = workers;
        CHECK(DepthOf(options, kDepth) == kDepth);
    }
}

TEST_CASE("waits within waits: 5,000 levels of tasks that other workers may steal before the wait",
          "[exhaustion][rescue]") {
    for (const uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers);
        SchedulerOptions options;
        options.workers = workers;
        CHECK(DepthOf(options, kDepth, DescendInTwoCalls) == kDepth);
    }
}

TEST_CASE("waits within waits: more levels with more fibers", "[exhaustion][helps]") {
    SchedulerOptions options;
    options.workers = 2;
    options.smallFibers = 2000;
    CHECK(DepthOf(options, kDeep) == kDeep);
}
