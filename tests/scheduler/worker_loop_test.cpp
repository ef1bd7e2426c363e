#include "weft/task_scheduler.h"

#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

// A fiber becomes free. The other worker had none and must be woken: the Normal task does not end
// before the Low task has run.
TEST_CASE("worker loop: a freed fiber wakes a worker that sleeps because it had none",
          "[worker_loop]") {
    for (IdlePolicy idle : {IdlePolicy::Sleep, IdlePolicy::Balanced}) {
        for (int round = 0; round < 10; ++round) {
            test::Runner runner(test::Options(2, 3, idle));
            std::atomic<bool> started{false}, ran{false}, met{false};
            Counter gate(1);
            test::Batch low(1, [&](TaskScheduler &, uint32_t) { ran.store(true); });
            test::Batch normal(1, [&](TaskScheduler &scheduler, uint32_t) {
                met.store(test::SpinUntil([&] { return ran.load(); }));
                scheduler.DecrementCounter(&gate);
            });
            test::Batch first(1, [&](TaskScheduler &scheduler, uint32_t) {
                started.store(true);
                // Most likely the main task waits now, and its worker sleeps without a fiber.
                test::Linger(2000);
                scheduler.AddTask(low[0], nullptr, test::kLow);
                scheduler.AddTask(normal[0], nullptr);
            });
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTask(first[0]);
                if (test::SpinUntil([&] { return started.load(); }))
                    scheduler.WaitForCounter(&gate);
            }) == Status::Ok);
            REQUIRE(met.load());
        }
    }
}

// Each of three links submits leaves and then the next link. So the newest task is not one that the
// link waits for, and soon all fibers wait. Then the waiting tasks get their leaves one by one.
// Meanwhile the Low task stays in its lane.
TEST_CASE("report OutOfFibers: not while waiting tasks run others inline",
          "[worker_loop][one_worker]") {
    constexpr uint32_t kLeaves = 5000;
    SchedulerOptions options = test::Options(0, 5, IdlePolicy::Sleep);
    options.stallMilliseconds = 1;
    test::Attached runner(options);
    TaskScheduler &scheduler = runner.scheduler;
    uint32_t ran = 0;
    Counter counter;
    test::Batch leaf(kLeaves, [&](TaskScheduler &, uint32_t) { ++ran; });
    test::Batch link(4, [&](TaskScheduler &inside, uint32_t i) {
        if (i == 3) return;
        Counter mine;
        inside.AddTasks(kLeaves, leaf.Tasks(), &mine);
        inside.AddTask(link[i + 1], &counter);
        inside.WaitForCounter(&mine);
    });
    scheduler.AddTasks(1, leaf.Tasks(), &counter, test::kLow);
    scheduler.AddTask(link[0], &counter);
    scheduler.WaitForCounter(&counter);
    CHECK(ran == 3 * kLeaves + 1);
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(runner.log.CountOf(ReportCode::OutOfFibers) == 0);
}
