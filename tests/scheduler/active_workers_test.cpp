// TaskScheduler::SetActiveWorkers.
#include "support/scheduler_run.h"
#include "support/spin.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("inactive workers run nothing but what is pinned to them", "[active_workers]") {
    for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Eager, IdlePolicy::Quiet}) {
        for (uint32_t workers : {2u, 3u, 8u}) {
            INFO(workers << " workers, policy " << static_cast<int>(idle));
            test::Runner runner(test::Options(workers, 64, 2, idle));
            std::atomic<uint32_t> ran{0}, onInactive{0}, pinnedRan{0}, pinnedElsewhere{0};
            std::atomic<bool> counting{false};
            test::Batch plain(200, [&](TaskScheduler &scheduler, uint32_t) {
                ran.fetch_add(1);
                if (counting.load() && scheduler.CurrentWorker() != 0) onInactive.fetch_add(1);
                test::Linger(1);
            });
            test::Batch pinned(20, [&](TaskScheduler &scheduler, uint32_t) {
                pinnedRan.fetch_add(1);
                if (scheduler.CurrentWorker() != workers - 1) pinnedElsewhere.fetch_add(1);
                scheduler.Yield();
                if (scheduler.CurrentWorker() != workers - 1) pinnedElsewhere.fetch_add(1);
            });
            std::atomic<uint32_t> together{0};
            bool met = true;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTasksAndWait(200, plain.Tasks());
                scheduler.SetActiveWorkers(1);
                // Whoever was at work still is; after a pinned task each has noticed.
                TaskOptions pin;
                for (pin.worker = 1; pin.worker < workers; ++pin.worker) {
                    test::Batch notice(1, [](TaskScheduler &, uint32_t) {});
                    scheduler.AddTasksAndWait(1, notice.Tasks(), pin);
                }
                counting.store(true);
                Counter counter;
                scheduler.AddTasks(200, plain.Tasks(), &counter);
                pin.worker = workers - 1;
                scheduler.AddTasks(20, pinned.Tasks(), &counter, pin);
                scheduler.WaitForCounter(&counter);
                counting.store(false);
                scheduler.SetActiveWorkers(workers);
                // All of them meet again.
                test::Batch meet(workers, [&](TaskScheduler &, uint32_t) {
                    together.fetch_add(1);
                    if (!test::SpinUntil([&] { return together.load() == workers; })) met = false;
                });
                scheduler.AddTasksAndWait(workers, meet.Tasks());
            }) == Status::Ok);
            CHECK(ran.load() == 400);
            CHECK(onInactive.load() == 0);
            CHECK(pinnedRan.load() == 20);
            CHECK(pinnedElsewhere.load() == 0);
            CHECK(met);
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("SetActiveWorkers names what is out of its range", "[active_workers]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([](TaskScheduler &scheduler) {
        scheduler.SetActiveWorkers(0);
        scheduler.SetActiveWorkers(3);
        scheduler.SetActiveWorkers(2);
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
    runner.scheduler.SetActiveWorkers(1);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
}
