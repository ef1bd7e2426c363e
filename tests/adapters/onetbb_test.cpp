// Waits of weft in the body of a loop of another library, here of oneTBB. oneTBB keeps the state of
// its loops on the stack and in the thread. So the thread must not run other tasks during the wait,
// and no thread of oneTBB may wait for a worker that waits for oneTBB.
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/closure.h"
#include "weft/no_suspend.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <cstdint>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr int kBodies = 64;

/// Runs a loop of oneTBB on this thread alone. Each body submits a task that sleeps, and waits for
/// it.
void RunBodies(TaskScheduler &scheduler, Meanwhile meanwhile, std::atomic<int> &sum) {
    tbb::task_arena(1).execute([&] {
        tbb::parallel_for(0, kBodies, [&](int i) {
            Counter counter;
            const auto add = [&sum, i](TaskScheduler *running) {
                SleepFor(*running, std::chrono::microseconds(50));
                sum += i;
            };
            AddTask(scheduler, add, &counter);
            scheduler.WaitForCounter(&counter, meanwhile);
        });
    });
}

}  // namespace

TEST_CASE("oneTBB: the body of its loop waits with OwnTasks, in tasks that run at once",
          "[onetbb]") {
    constexpr uint32_t kLoops = 8;
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        test::Runner run(test::Options(workers));
        std::atomic<int> sum{0};
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            test::Batch loops(kLoops, [&](TaskScheduler &, uint32_t) {
                RunBodies(scheduler, Meanwhile::OwnTasks, sum);
            });
            for (int round = 0; round < 5; ++round)
                scheduler.AddTasksAndWait(kLoops, loops.Tasks());
        }) == Status::Ok);
        CHECK(sum == 5 * int(kLoops) * kBodies * (kBodies - 1) / 2);
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("report WaitInScope: a wait in the body of a loop of oneTBB, by a NoSuspend around it",
          "[onetbb][report]") {
    for (const Meanwhile meanwhile : {Meanwhile::AnyTask, Meanwhile::OwnTasks}) {
        test::Runner run(test::Options(1));
        std::atomic<int> sum{0};
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            const NoSuspend scope("loop of oneTBB");
            RunBodies(scheduler, meanwhile, sum);
        }) == Status::Ok);
        CHECK(sum == kBodies * (kBodies - 1) / 2);
        CHECK(run.log.CountOf(ReportCode::WaitInScope) == 1);
        CHECK(run.log.Count() == 1);
        CHECK(test::Names(run.log.First(ReportCode::WaitInScope).what,
                          "WaitForCounter was called in a scope of NoSuspend 'loop of oneTBB'"));
    }
}
