#include "weft/task_scheduler.h"

#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Workers that spin take the cores from the main task when it yields. So they get fewer rounds.
uint32_t Rounds(const test::GridPoint &point) {
    return point.idle == IdlePolicy::Spin ? 24 / point.workers : 40;
}

}  // namespace

TEST_CASE("fault: lost wake-up in sleep. Work submitted to sleeping workers is found",
          "[ready][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        if (point.workers == 1) continue;
        INFO(test::Describe(point));
        uint32_t found = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < Rounds(point); ++round) {
                std::atomic<bool> ran{false};
                test::Batch batch(1, [&](TaskScheduler &, uint32_t) { ran.store(true); });
                Counter counter;
                test::Linger(static_cast<int>(round));  // the other workers sleep, or are about to
                scheduler.AddTask(batch[0], &counter);
                // The main task keeps its worker busy. So another worker must run the task.
                if (!test::SpinUntil([&] { return ran.load(); })) return;
                ++found;
                scheduler.WaitForCounter(&counter);
            }
        });
        CHECK(found == Rounds(point));
    }
}

TEST_CASE("ready: a fiber made ready by a running task is resumed by another worker",
          "[ready][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        if (point.workers == 1) continue;
        INFO(test::Describe(point));
        uint32_t rounds = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (; rounds < Rounds(point); ++rounds) {
                Counter gate(1), all;
                std::atomic<int> step{0};
                test::Batch waiter(1, [&](TaskScheduler &inner, uint32_t) {
                    step.store(1);
                    inner.WaitForCounter(&gate);
                    step.store(2);
                });
                scheduler.AddTask(waiter[0], &all);
                if (!test::SpinUntil([&] { return step.load() == 1; })) return;
                test::Linger(static_cast<int>(rounds));
                scheduler.DecrementCounter(&gate);
                if (!test::SpinUntil([&] { return step.load() == 2; })) return;
                scheduler.WaitForCounter(&all);
            }
        });
        CHECK(rounds == Rounds(point));
    }
}

// The waiter runs a task inline, and this task makes the last decrement. Then the other waiter is
// ready, too. Another worker must resume it, although this worker continues the task that waited.
TEST_CASE("ready: a fiber made ready by an inline task is resumed by another worker", "[ready]") {
    for (IdlePolicy idle : {IdlePolicy::Sleep, IdlePolicy::Balanced}) {
        uint32_t rounds = 0;
        test::Runner runner(test::Options(2, 160, idle));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (; rounds < 5; ++rounds) {
                Counter counter(1), all;
                std::atomic<bool> waits{false}, resumed{false};
                test::Batch other(1, [&](TaskScheduler &inner, uint32_t) {
                    waits.store(true);
                    inner.WaitForCounter(&counter);
                    resumed.store(true);
                });
                scheduler.AddTask(other[0], &all);
                if (!test::SpinUntil([&] { return waits.load(); })) return;
                // The waiter runs this task inline, or the other worker steals it. When it ends,
                // the worker that does not run it most likely sleeps.
                test::Batch last(1, [&](TaskScheduler &inner, uint32_t) {
                    test::Linger(5000);
                    inner.DecrementCounter(&counter);
                });
                scheduler.AddTask(last[0], &counter);
                scheduler.WaitForCounter(&counter);
                if (!test::SpinUntil([&] { return resumed.load(); })) return;
                scheduler.WaitForCounter(&all);
            }
        }) == Status::Ok);
        CHECK(rounds == 5);
    }
}

TEST_CASE("an external thread's decrements resume fibers", "[ready][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        Counter gate(1000);
        std::atomic<bool> running{false};
        std::thread external([&] {
            test::SpinUntil([&] { return running.load(); });
            for (int i = 0; i < 999; ++i) runner.scheduler.DecrementCounter(&gate);
            runner.scheduler.IncrementCounter(&gate, 5);
            runner.scheduler.DecrementCounter(&gate, 6);
            running.store(false);
        });
        uint32_t left = 1;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            running.store(true);
            scheduler.WaitForCounter(&gate);
            left = gate.Value();
            // The thread may still be inside its last call. The scheduler must live until this call
            // has returned.
            test::YieldUntil(scheduler, [&] { return !running.load(); });
        }) == Status::Ok);
        external.join();
        CHECK(left == 0);
        // This report may come, or not.
        CHECK(runner.log.CountOf(ReportCode::Stalled) == runner.log.Count());
    }
}

TEST_CASE("Run may return while the external decrement that ended it is still inside its call",
          "[ready]") {
    for (int round = 0; round < 200; ++round) {
        test::Runner runner(test::Options(2, 10, IdlePolicy::Sleep));
        Counter gate(1), own;
        std::atomic<bool> running{false}, returned{false};
        std::thread external([&] {
            test::SpinUntil([&] { return running.load(); });
            test::Linger(round % 20);
            runner.scheduler.DecrementCounter(&gate);
            // Nothing waits for these calls. They are accepted, or refused because the run has
            // ended.
            test::SpinUntil([&] {
                for (int i = 0; i < 20; ++i) runner.scheduler.IncrementCounter(&own);
                return returned.load();
            });
        });
        const Status status = runner.Run([&](TaskScheduler &scheduler) {
            running.store(true);
            scheduler.WaitForCounter(&gate);
        });
        returned.store(true);
        external.join();
        REQUIRE(status == Status::Ok);
        // Each of these reports may come, or not.
        REQUIRE(runner.log.Count() == runner.log.CountOf(ReportCode::NotRunning) +
                                          runner.log.CountOf(ReportCode::Stalled));
    }
}
