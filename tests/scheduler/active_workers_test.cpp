// TaskScheduler::SetActiveWorkers.
#include "support/quiet_run.h"
#include "support/variable.h"

#include <atomic>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("inactive workers run only tasks that are pinned to them", "[active_workers]") {
    for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep}) {
        for (uint32_t workers : {2u, 3u, 8u}) {
            INFO(workers << " workers, policy " << static_cast<int>(idle));
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
            test::Batch notice(1, [](TaskScheduler &, uint32_t) {});
            uint32_t alone = 1;
            test::RunQuietly(test::Options(workers, 66, idle), [&](TaskScheduler &scheduler) {
                scheduler.AddTasksAndWait(200, plain.Tasks());
                scheduler.SetActiveWorkers(1);
                // A worker may still be busy with a task. Once it has run a pinned task, it has
                // seen the change.
                for (uint32_t worker = 1; worker < workers; ++worker)
                    scheduler.AddTasksAndWait(1, notice.Tasks(), test::PinnedTo(worker));
                counting.store(true);
                Counter counter;
                scheduler.AddTasks(200, plain.Tasks(), &counter);
                scheduler.AddTasks(20, pinned.Tasks(), &counter, test::PinnedTo(workers - 1));
                scheduler.WaitForCounter(&counter);
                counting.store(false);
                scheduler.SetActiveWorkers(workers);
                alone = test::Meet(scheduler, workers);  // all workers are active again
            });
            CHECK(ran.load() == 400);
            CHECK(onInactive.load() == 0);
            CHECK(pinnedRan.load() == 20);
            CHECK(pinnedElsewhere.load() == 0);
            CHECK(alone == 0);
        }
    }
}

TEST_CASE("SetActiveWorkers reports numbers out of range", "[active_workers]") {
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

TEST_CASE("inactive workers: their ready fibers run when an active worker yields",
          "[active_workers]") {
    bool done = false;
    test::RunMayStall(test::Options(2), [&](TaskScheduler &scheduler) {
        scheduler.SetActiveWorkers(1);
        Counter gate(1), counter;
        test::Batch waiter = test::WaitsFor(gate), opener = test::Lowers(gate);
        scheduler.AddTasks(1, waiter.Tasks(), &counter);
        scheduler.Yield();  // the waiter begins and waits
        scheduler.AddTasks(1, opener.Tasks(), nullptr, {Priority::Normal, 1, "opener"});
        done = test::YieldUntil(scheduler, [&] { return scheduler.PollCounter(&counter); });
        scheduler.SetActiveWorkers(2);
        scheduler.WaitForCounter(&counter);
    });
    CHECK(done);
}

TEST_CASE("inactive workers: RunPinnedTasks returns even if no fiber is free", "[active_workers]") {
    bool done = false;
    uint32_t ran = 0;
    test::RunMayStall(test::Options(2, 2), [&](TaskScheduler &scheduler) {
        scheduler.SetActiveWorkers(1);
        const TaskOptions there{Priority::Normal, 1, "there"};
        std::atomic<bool> pumped{false};
        Counter counter;
        test::Batch leaf(1, [](TaskScheduler &, uint32_t) {});
        test::Batch pump(1, [&](TaskScheduler &inside, uint32_t) {  // runs on the only fiber
            inside.AddTasks(1, leaf.Tasks(), &counter, there);
            ran = inside.RunPinnedTasks();
            pumped.store(true);
        });
        scheduler.AddTasks(1, pump.Tasks(), &counter, there);
        done = test::SpinUntil([&] { return pumped.load(); });
        scheduler.SetActiveWorkers(2);
        scheduler.WaitForCounter(&counter);
    });
    CHECK(done);
    CHECK(ran == 1);
}

TEST_CASE("WorkerCount and SetActiveWorkers keep the number of workers when the default changes",
          "[active_workers]") {
    test::Runner runner(test::Options(kAnyWorker));
    const uint32_t workers = runner.scheduler.WorkerCount();
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    {
        const test::Variable variable("WEFT_WORKERS", std::to_string(workers + 1).c_str());
        CHECK(runner.scheduler.WorkerCount() == workers);
        runner.scheduler.SetActiveWorkers(workers);
        CHECK(runner.log.Text() == "");
        runner.scheduler.Stop();
        CHECK(runner.scheduler.WorkerCount() == workers + 1);
    }
    CHECK(runner.scheduler.WorkerCount() == workers);
}
