#include "weft/task_scheduler.h"

#include "support/quiet_run.h"

#include <atomic>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

// Each waiter becomes ready at about the moment when it leaves its stack. A worker that resumes it
// too early runs on a stack that is still in use. Debug builds then report the broken invariant.
// Other builds crash, or their counts are wrong.
TEST_CASE(
    "invariant 2: a fiber is resumed only after it was left (fault: resume of a running fiber)",
    "[fiber_switch][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        constexpr uint32_t kPairs = 30, kRounds = 30;
        std::vector<Counter> gates(kPairs);
        std::atomic<uint32_t> rounds{0}, wrong{0};
        test::Batch openers(kPairs, [&](TaskScheduler &scheduler, uint32_t i) {
            scheduler.DecrementCounter(&gates[i]);
        });
        test::Batch waiters(kPairs, [&](TaskScheduler &scheduler, uint32_t i) {
            const uint32_t fiber = scheduler.CurrentFiber();
            for (uint32_t round = 0; round < kRounds; ++round) {
                volatile uint32_t onStack[16];
                for (uint32_t k = 0; k < 16; ++k) onStack[k] = i * 1000 + round + k;
                scheduler.IncrementCounter(&gates[i]);
                scheduler.AddTask(openers[i], nullptr,
                                  round % 2 == 0 ? test::kHigh : TaskOptions{});
                scheduler.WaitForCounter(&gates[i]);
                for (uint32_t k = 0; k < 16; ++k)
                    wrong.fetch_add(onStack[k] != i * 1000 + round + k);
                wrong.fetch_add(scheduler.CurrentFiber() != fiber);
                rounds.fetch_add(1);
            }
        });
        test::RunQuietly(point,
                         [&](TaskScheduler &scheduler) { test::AddAndWait(scheduler, waiters); });
        CHECK(rounds.load() == kPairs * kRounds);
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("invariant 3: no two tasks that have begun share a fiber", "[fiber_switch][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        const uint32_t most = point.fibers + point.workers;
        std::vector<std::atomic<uint32_t>> users(most + SchedulerOptions().maxAttached);
        std::atomic<uint32_t> wrong{0}, ran{0};
        test::Batch batch(100, [&](TaskScheduler &scheduler, uint32_t) {
            const uint32_t fiber = scheduler.CurrentFiber();
            wrong.fetch_add(users[fiber].fetch_add(1) != 0);
            for (int i = 0; i < 5; ++i) scheduler.Yield();
            users[fiber].fetch_sub(1);
            ran.fetch_add(1);
        });
        CHECK(test::Runner(point).Run([&](TaskScheduler &scheduler) {
            // A wait with SameWorker runs no task inline. Inline tasks would share the main task's
            // fiber.
            Counter counter;
            scheduler.AddTasks(100, batch.Tasks(), &counter);
            scheduler.WaitForCounter(&counter, 0, ResumeOn::SameWorker);
        }) == Status::Ok);
        CHECK(wrong.load() == 0);
        CHECK(ran.load() == 100);
    }
}
