#include "weft/task_scheduler.h"

#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/inspect.h"

#include <atomic>
#include <memory>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("Start: again and again, with Run in between", "[start][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        for (uint32_t round = 1; round <= 3; ++round) {
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            CHECK(runner.scheduler.WorkerCount() == point.workers);
            CHECK(runner.scheduler.CurrentWorker() == kAnyWorker);  // the caller is no worker
            CHECK(TaskScheduler::Current() == nullptr);
            test::Marks marks(50);
            if (round != 2) runner.scheduler.AddTasksAndWait(50, marks.Tasks());
            runner.scheduler.Stop();
            if (round == 2) {
                CHECK(runner.Run([&](TaskScheduler &running) {
                    running.AddTasksAndWait(50, marks.Tasks());
                }) == Status::Ok);
            }
            CHECK(marks.Wrong() == 0);
        }
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("Start: by default the number of fibers grows with the number of workers", "[start]") {
    for (const uint32_t workers : {2u, 20u}) {
        SchedulerOptions options;
        options.workers = workers;
        TaskScheduler scheduler(options);
        REQUIRE(scheduler.Start() == Status::Ok);
        const uint32_t tasks = workers == 2 ? 160 : 18 * workers;
        // each worker and attached thread may look for work on one
        CHECK(GetStatistics(scheduler).fibers == tasks + workers + options.maxAttached);
        scheduler.Stop();
    }
}

TEST_CASE("Start: no task runs on the thread that called it", "[start]") {
    for (uint32_t workers : {1u, 3u}) {
        test::Started runner(test::Options(workers));
        const std::thread::id host = std::this_thread::get_id();
        std::atomic<uint32_t> wrong{0};
        test::Batch batch(500, [&](TaskScheduler &scheduler, uint32_t) {
            wrong.fetch_add(std::this_thread::get_id() == host ||
                            scheduler.CurrentWorker() >= workers ||
                            TaskScheduler::Current() != &scheduler);
        });
        runner.scheduler.AddTasksAndWait(500, batch.Tasks());
        runner.scheduler.AddTasks(500, batch.Tasks());
        runner.StopQuietly();
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("Start twice, Run while started, Start while Run runs: AlreadyRunning", "[start]") {
    test::Started runner(test::Options(2));
    test::Marks marks(20);
    bool ran = false;
    CHECK(runner.scheduler.Start() == Status::AlreadyRunning);
    CHECK(runner.Run([&](TaskScheduler &) { ran = true; }) == Status::AlreadyRunning);
    CHECK(!ran);
    runner.scheduler.AddTasksAndWait(20, marks.Tasks());
    CHECK(marks.Wrong() == 0);  // the run is not affected
    runner.scheduler.Stop();

    Status inside[2] = {Status::Ok, Status::Ok};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        inside[0] = scheduler.Start();
        std::thread([&] { inside[1] = scheduler.Start(); }).join();
    }) == Status::Ok);
    CHECK(inside[0] == Status::AlreadyRunning);
    CHECK(inside[1] == Status::AlreadyRunning);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Start of several threads at once succeeds for one", "[start]") {
    test::Runner runner(test::Options(2, 9));
    for (int round = 0; round < 50; ++round) {
        std::atomic<uint32_t> ok{0}, already{0};
        test::Threads threads(3, [&](uint32_t) {
            const Status status = runner.scheduler.Start();
            (status == Status::Ok ? ok : already).fetch_add(1);
            if (status != Status::Ok && status != Status::AlreadyRunning) ok.fetch_add(100);
        });
        threads.Join();
        REQUIRE(ok.load() == 1);
        REQUIRE(already.load() == 2);
        runner.scheduler.Stop();  // not the thread that started it
    }
    CHECK(runner.log.Text() == "");
}

TEST_CASE("report NotRunning: Stop without Start", "[start]") {
    test::Runner runner(test::Options(2));
    runner.scheduler.Stop();
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(test::Names(runner.log.First(ReportCode::NotRunning).what, "Stop"));
    CHECK(!runner.log.First(ReportCode::NotRunning).fatal);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    runner.scheduler.Stop();
    runner.scheduler.Stop();
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 2);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::thread([&] { scheduler.Stop(); }).join();
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
    CHECK(runner.log.Count() == 3);
}

TEST_CASE("report WrongThread: Stop by a task or an attached thread has no effect", "[start]") {
    test::Started runner(test::Options(2));
    test::Marks marks(20);
    test::Batch stopper(1, [](TaskScheduler &scheduler, uint32_t) { scheduler.Stop(); });
    runner.scheduler.AddTasksAndWait(1, stopper.Tasks());
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 1);
    CHECK(test::Names(runner.log.First(ReportCode::WrongThread).what, "Stop"));
    CHECK(!runner.log.First(ReportCode::WrongThread).fatal);
    REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
    runner.scheduler.Stop();
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 2);
    runner.scheduler.AddTasksAndWait(20, marks.Tasks());
    runner.scheduler.DetachThread();
    CHECK(marks.Wrong() == 0);
    runner.scheduler.Stop();
    CHECK(runner.Run([](TaskScheduler &scheduler) { scheduler.Stop(); }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 3);
    CHECK(runner.log.Count() == 3);
}

TEST_CASE("report WrongThread: Stop by a thread that has attached to a second scheduler",
          "[start]") {
    test::Started outer(test::Options(1)), inner(test::Options(1));
    REQUIRE(outer.scheduler.AttachThread() == Status::Ok);
    const auto callOuter = [&] {
        CHECK(outer.scheduler.AttachThread() == Status::AlreadyRunning);
        outer.scheduler.Stop();
    };
    REQUIRE(inner.scheduler.AttachThread() == Status::Ok);
    callOuter();
    inner.scheduler.DetachThread();
    inner.scheduler.Stop();
    CHECK(outer.log.CountOf(ReportCode::WrongThread) == 1);
    // There is one worker, which is this thread.
    CHECK(inner.Run([&](TaskScheduler &) { callOuter(); }) == Status::Ok);
    CHECK(outer.log.CountOf(ReportCode::WrongThread) == 2);
    outer.scheduler.DetachThread();
    outer.scheduler.Stop();
    CHECK(outer.log.Count() == 2);
}

TEST_CASE("the destructor of a started scheduler stops it, and runs its tasks first", "[start]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (uint32_t size : {0u, 1u, 30u, 500u}) {
            test::ReportLog log;
            const int64_t before = test::OutstandingAllocations();
            test::Marks marks(size);
            {
                SchedulerOptions options = test::Options(workers, 18);
                log.AttachTo(options);
                const auto scheduler = std::make_unique<TaskScheduler>(options);
                REQUIRE(scheduler->Start() == Status::Ok);
                scheduler->AddTasks(size, marks.Tasks());
            }
            CHECK(marks.Wrong() == 0);
            // The scheduler object itself may be counted.
            CHECK(test::OutstandingAllocations() <= before + 1);
            CHECK(log.Text() == "");
        }
    }
}

TEST_CASE("Stop drains pending tasks, waiting tasks, and the tasks that they submit",
          "[start][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Started runner(point);
        test::Marks leaves(200), late(10);
        Counter gate(1);
        test::Batch middle(4, [&](TaskScheduler &scheduler, uint32_t i) {
            scheduler.Yield();
            scheduler.AddTasks(50, leaves.Tasks() + i * 50);
        });
        test::Batch waiter(1, [&](TaskScheduler &scheduler, uint32_t) {
            scheduler.WaitForCounter(&gate);
            scheduler.AddTasks(10, late.Tasks(), nullptr, test::kLow);
        });
        test::Batch opener(
            1, [&](TaskScheduler &scheduler, uint32_t) { scheduler.DecrementCounter(&gate); });
        runner.scheduler.AddTask(waiter[0], nullptr, test::kHigh);
        runner.scheduler.AddTasks(4, middle.Tasks());
        runner.scheduler.AddTask(opener[0], nullptr, test::kLow);
        runner.StopQuietly();
        CHECK(leaves.Wrong() == 0);
        CHECK(late.Wrong() == 0);
    }
}

TEST_CASE("Stop waits for threads that wait in a call", "[start]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (int round = 0; round < 20; ++round) {
            test::Started runner(test::Options(
                workers, 18, round % 2 == 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced));
            Counter gate(1);
            std::atomic<uint32_t> inside{0}, back{0};
            std::atomic<bool> stopped{false};
            test::Batch blocked(1, [&](TaskScheduler &scheduler, uint32_t) {
                inside.fetch_add(1);
                scheduler.WaitForCounter(&gate);
            });
            test::Threads waiters(2, [&](uint32_t) {
                runner.scheduler.AddTasksAndWait(1, blocked.Tasks());
                back.fetch_add(1);
            });
            // Now both threads are inside their calls.
            REQUIRE(test::SpinUntil([&] { return inside.load() == 2; }));
            std::thread stopper([&] {
                runner.scheduler.Stop();
                stopped.store(true);
            });
            test::Linger(100);
            const bool stoppedEarly = stopped.load();
            runner.scheduler.DecrementCounter(&gate);  // still accepted
            stopper.join();
            waiters.Join();
            REQUIRE(!stoppedEarly);
            REQUIRE(back.load() == 2);
            REQUIRE(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("Stop waits until attached threads have detached", "[start]") {
    for (uint32_t workers : {0u, 1u, 3u}) {
        for (int round = 0; round < 20; ++round) {
            INFO(workers << " workers");
            test::Started runner(test::Options(workers, 18));
            std::atomic<bool> attached{false}, mayDetach{false}, stopped{false};
            std::atomic<uint32_t> wrong{0};
            std::thread guest([&] {
                if (runner.scheduler.AttachThread() != Status::Ok) wrong.fetch_add(1);
                attached.store(true);
                test::SpinUntil([&] { return mayDetach.load(); });
                test::Marks marks(20);  // tasks still run while Stop waits
                runner.scheduler.AddTasksAndWait(20, marks.Tasks());
                wrong.fetch_add(marks.Wrong());
                wrong.fetch_add(stopped.load());
                runner.scheduler.DetachThread();
            });
            REQUIRE(test::SpinUntil([&] { return attached.load(); }));
            std::thread stopper([&] {
                runner.scheduler.Stop();
                stopped.store(true);
            });
            test::Linger(50);
            mayDetach.store(true);
            stopper.join();
            guest.join();
            REQUIRE(wrong.load() == 0);
            REQUIRE(runner.log.Text() == "");
        }
    }
}

TEST_CASE("two started schedulers are independent", "[start]") {
    test::Started first(test::Options(2)), second(test::Options(3));
    std::atomic<uint32_t> wrong{0};
    test::Threads threads(4, [&](uint32_t self) {
        TaskScheduler &mine = self % 2 == 0 ? first.scheduler : second.scheduler;
        test::Batch batch(40, [&](TaskScheduler &scheduler, uint32_t) {
            wrong.fetch_add(&scheduler != &mine || TaskScheduler::Current() != &mine ||
                            scheduler.CurrentWorker() >= mine.WorkerCount());
        });
        for (int round = 0; round < 20; ++round) {
            mine.AddTasksAndWait(40, batch.Tasks());
            mine.WaitIdle();
        }
    });
    threads.Join();
    first.StopQuietly();
    test::Marks marks(10);
    second.scheduler.AddTasksAndWait(10, marks.Tasks());  // runs after the other one has stopped
    second.StopQuietly();
    CHECK(marks.Wrong() == 0);
    CHECK(wrong.load() == 0);
}

TEST_CASE("Start from a task of another scheduler, and Stop from there", "[start]") {
    test::Runner outer(test::Options(2)), inner(test::Options(2));
    test::Marks marks(30);
    Status status = Status::BadOption;
    CHECK(outer.Run([&](TaskScheduler &) {
        status = inner.scheduler.Start();
        inner.scheduler.AddTasksAndWait(30, marks.Tasks());
        inner.scheduler.Stop();
    }) == Status::Ok);
    CHECK(status == Status::Ok);
    CHECK(marks.Wrong() == 0);
    CHECK(outer.log.Text() + inner.log.Text() == "");
}

TEST_CASE("workers = 0 is for Start only; maxAttached has a range", "[start]") {
    test::Runner none(test::Options(0));
    CHECK(none.Run([](TaskScheduler &) {}) == Status::BadOption);
    CHECK(none.log.CountOf(ReportCode::BadOption) == 1);
    CHECK(test::Names(none.log.First(ReportCode::BadOption).what, "SchedulerOptions::workers"));
    CHECK(none.scheduler.Start() == Status::Ok);
    CHECK(none.scheduler.WorkerCount() == 0);
    none.scheduler.Stop();
    for (uint32_t bad : {0u, 1025u}) {
        SchedulerOptions options = test::Options(1);
        options.maxAttached = bad;
        test::Runner runner(options);
        CHECK(runner.scheduler.Start() == Status::BadOption);
        CHECK(test::Names(runner.log.First(ReportCode::BadOption).what,
                          "SchedulerOptions::maxAttached"));
        runner.scheduler.Stop();  // it was not started
        CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    }
}
