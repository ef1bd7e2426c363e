// Start without workers: the attached thread runs all tasks.
#include "weft/task_scheduler.h"

#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("no workers: everything runs on the attached thread", "[attach][single]") {
    for (uint32_t fibers : {1u, 2u, 3u, 128u}) {
        for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep}) {
            test::Started runner(test::Options(0, fibers + 1, idle));
            TaskScheduler &scheduler = runner.scheduler;
            const std::thread::id self = std::this_thread::get_id();
            std::atomic<uint32_t> wrong{0}, ran{0};
            test::Batch leaves(3, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
            test::Batch batch(50, [&](TaskScheduler &running, uint32_t i) {
                if (i % 3 == 0) running.Yield();
                running.AddTasksAndWait(3, leaves.Tasks());
                wrong.fetch_add(std::this_thread::get_id() != self || running.CurrentWorker() != 0);
            });
            CHECK(scheduler.WorkerCount() == 0);
            REQUIRE(scheduler.AttachThread() == Status::Ok);
            CHECK(scheduler.CurrentWorker() == 0);
            Counter counter;
            scheduler.AddTasks(50, batch.Tasks(), &counter);
            CHECK(ran.load() == 0);  // no task runs before the thread waits
            scheduler.WaitForCounter(&counter);
            CHECK(ran.load() == 150);
            scheduler.AddTasksAndWait(50, batch.Tasks());
            scheduler.AddTasks(50, batch.Tasks(), nullptr, {Priority::Low, 0, "pinned"});
            scheduler.WaitIdle();
            CHECK(ran.load() == 450);
            scheduler.AddTasks(50, batch.Tasks(), nullptr, {Priority::Low, 0, "pinned"});
            scheduler.DetachThread();
            CHECK(ran.load() == 600);
            runner.StopQuietly();
            CHECK(wrong.load() == 0);
        }
    }
}

TEST_CASE("no workers: a second thread is refused while one is attached", "[attach][single]") {
    test::Started runner(test::Options(0));
    for (int round = 0; round < 3; ++round) {
        REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        Status second = Status::Ok;
        std::thread([&] { second = runner.scheduler.AttachThread(); }).join();
        CHECK(second != Status::Ok);
        runner.scheduler.DetachThread();
        std::thread([&] {
            second = runner.scheduler.AttachThread();
            if (second == Status::Ok) runner.scheduler.DetachThread();
        }).join();
        CHECK(second == Status::Ok);
    }
    runner.scheduler.Stop();
}

TEST_CASE("no workers: the order is the same in every run", "[attach][single][one_worker]") {
    for (uint32_t fibers : {2u, 3u, 128u}) {
        std::vector<std::vector<uint32_t>> orders;
        for (int run = 0; run < 10; ++run) {
            test::Attached runner(test::Options(0, fibers + 2));
            std::vector<uint32_t> order;
            Counter all;
            test::Batch leaves(40, [&](TaskScheduler &, uint32_t i) {
                order.push_back(1000 + i);
                if (i % 8 == uint32_t(run) % 2) test::Linger(3);  // time must have no influence
            });
            test::Batch batch(40, [&](TaskScheduler &scheduler, uint32_t i) {
                order.push_back(i);
                if (i % 2 == 0)
                    scheduler.AddTasks(i, leaves.Tasks(), &all,
                                       i % 4 == 0 ? test::kLow : test::kHigh);
                if (i % 3 == 0) scheduler.Yield();
                if (i % 5 == 0) scheduler.AddTasksAndWait(10, leaves.Tasks());
                order.push_back(500 + i);
            });
            runner.scheduler.AddTasks(40, batch.Tasks(), &all);
            runner.scheduler.Yield();
            runner.scheduler.WaitForCounter(&all);
            runner.StopQuietly();
            orders.push_back(order);
        }
        CHECK(orders[0].size() > 80);
        for (const std::vector<uint32_t> &order : orders) REQUIRE(order == orders[0]);
    }
}

TEST_CASE("no workers: external threads wait while an attached one pumps", "[attach][single]") {
    for (uint32_t fibers : {1u, 2u, 128u}) {
        test::Attached runner(test::Options(0, fibers + 1));
        TaskScheduler &scheduler = runner.scheduler;
        std::atomic<uint32_t> wrong{0}, ended{0};
        test::Threads threads(3, [&](uint32_t self) {
            for (uint32_t round = 0; round < 30; ++round) {
                test::Marks marks(1 + (round * 7 + self) % 40);
                if (self == 0) {
                    scheduler.AddTasks(marks.Count(), marks.Tasks());
                    scheduler.WaitIdle();
                } else {
                    scheduler.AddTasksAndWait(
                        marks.Count(), marks.Tasks(),
                        {Priority::Normal, self == 1 ? 0 : kAnyWorker, "mark"});
                }
                wrong.fetch_add(marks.Wrong());
            }
            ended.fetch_add(1);
        });
        CHECK(test::YieldUntil(scheduler, [&] { return ended.load() == 3; }));
        threads.Join();
        runner.StopQuietly();
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("report NoWorkers: once, and the wait continues until a thread attaches",
          "[attach][single]") {
    test::Started runner(test::Options(0));
    TaskScheduler &scheduler = runner.scheduler;
    test::Marks marks(20);
    std::atomic<uint32_t> back{0};
    test::Threads threads(2, [&](uint32_t self) {
        scheduler.AddTasksAndWait(10, marks.Tasks() + self * 10);
        back.fetch_add(1);
    });
    CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::NoWorkers) != 0; }));
    CHECK(back.load() == 0);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    CHECK(test::YieldUntil(scheduler, [&] { return back.load() == 2; }));
    threads.Join();
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(marks.Wrong() == 0);
    CHECK(runner.log.Count() == 1);
    CHECK(!runner.log.First(ReportCode::NoWorkers).fatal);
}

TEST_CASE("no workers: WaitIdle of an external thread returns when nothing is pending",
          "[attach][single]") {
    for (const bool attached : {false, true}) {
        test::Started runner(test::Options(0));
        TaskScheduler &scheduler = runner.scheduler;
        if (attached) {
            test::Marks marks(3);
            REQUIRE(scheduler.AttachThread() == Status::Ok);
            scheduler.AddTasksAndWait(marks.Count(), marks.Tasks());
        }
        // Meanwhile the attached thread is outside of weft.
        std::thread([&] { scheduler.WaitIdle(); }).join();
        if (attached) scheduler.DetachThread();
        runner.StopQuietly();
    }
}

TEST_CASE("no workers: Stop runs pending tasks, also those of waiting threads",
          "[attach][single]") {
    for (uint32_t fibers : {1u, 2u, 128u}) {
        for (bool waiter : {false, true}) {
            INFO(fibers << " fibers" << (waiter ? ", a thread waits" : ""));
            test::Started runner(test::Options(0, fibers + 1));
            test::Marks marks(100), late(100);
            test::Batch parent(100, [&](TaskScheduler &scheduler, uint32_t i) {
                scheduler.Yield();
                scheduler.AddTask(late[i]);
            });
            runner.scheduler.AddTasks(100, parent.Tasks(), nullptr, test::kLow);
            std::thread thread;
            if (waiter) {
                thread = std::thread([&] { runner.scheduler.AddTasksAndWait(100, marks.Tasks()); });
                CHECK(test::SpinUntil(
                    [&] { return runner.log.CountOf(ReportCode::NoWorkers) != 0; }));
            } else {
                runner.scheduler.AddTasks(100, marks.Tasks());
            }
            runner.scheduler.Stop();
            if (waiter) thread.join();
            CHECK(marks.Wrong() == 0);
            CHECK(late.Wrong() == 0);
            CHECK(runner.log.Count() == (waiter ? 1 : 0));
        }
    }
}

TEST_CASE("no workers: Stop runs pending tasks, also without memory", "[single]") {
    for (bool reports : {false, true}) {
        SchedulerOptions options = test::Options(0);
        options.reportStackOverflow = reports;
        test::Started runner(options);
        test::Marks marks(20);
        runner.scheduler.AddTasks(20, marks.Tasks());
        {
            const test::FailingAllocation failing(0);
            runner.scheduler.Stop();
        }
        CHECK(marks.Wrong() == 0);
        CHECK(runner.log.Text() == "");
    }
}
