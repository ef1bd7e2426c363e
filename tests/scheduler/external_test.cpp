#include "weft/task_scheduler.h"

#include "support/quiet_run.h"

#include <atomic>
#include <deque>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr test::Life kLives[] = {test::Life::Run, test::Life::Start};
constexpr uint32_t kSizes[] = {1, 29, 30, 31, 1000, 10000};

thread_local uint32_t t_refused = 0;  // counts reports of NotRunning on this thread

void CountRefused(const Report &report, void *user) {
    report.code == ReportCode::NotRunning
        ? ++t_refused
        : static_cast<std::atomic<uint32_t> *>(user)->fetch_add(1);
}

}  // namespace

TEST_CASE("external: one thread submits any number of tasks and waits", "[external][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        for (test::Life life : kLives) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            uint32_t wrong = 0;
            test::HostMayStall(point, life, [&](TaskScheduler &scheduler) {
                for (uint32_t size : kSizes) {
                    test::Marks marks(size);
                    Counter counter;
                    scheduler.AddTasks(size, marks.Tasks(), &counter);
                    scheduler.WaitForCounter(&counter);
                    wrong += marks.Wrong(1);
                    scheduler.AddTasksAndWait(size, marks.Tasks());
                    wrong += marks.Wrong(2);
                    scheduler.AddTask(marks[size - 1], &counter);
                    scheduler.WaitForCounter(&counter);
                    wrong += marks.Wrong(2) != 1 || !counter.IsZero();
                }
            });
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("external: several threads submit and wait at once, with all options", "[external]") {
    for (const test::GridPoint &point : test::Grid()) {
        for (test::Life life : kLives) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            std::atomic<uint32_t> wrong{0};
            test::HostMayStall(point, life, [&](TaskScheduler &scheduler) {
                test::Threads threads(5, [&](uint32_t self) {
                    for (uint32_t round = 0; round < 12; ++round) {
                        const TaskOptions options{static_cast<Priority>((self + round) % 3)};
                        test::Marks marks(1 + (self * 7 + round * 13) % 70);
                        if (round % 2 == 0) {
                            scheduler.AddTasksAndWait(marks.Count(), marks.Tasks(), options);
                        } else {
                            Counter counter;
                            for (uint32_t i = 0; i < marks.Count(); ++i)
                                scheduler.AddTask(marks[i], &counter, options);
                            scheduler.WaitForCounter(&counter);
                        }
                        wrong.fetch_add(marks.Wrong());
                    }
                });
            });
            CHECK(wrong.load() == 0);
        }
    }
}

TEST_CASE("external: threads share a counter of tasks that wait, yield and submit", "[external]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> inner{0}, seen{0};
        test::Batch leaves(3, [&](TaskScheduler &, uint32_t) { inner.fetch_add(1); });
        test::Batch batch(40, [&](TaskScheduler &scheduler, uint32_t i) {
            if (i % 2 == 0) scheduler.Yield();
            scheduler.AddTasksAndWait(3, leaves.Tasks());
        });
        Counter shared;
        test::HostQuietly(point, [&](TaskScheduler &scheduler) {
            test::Threads threads(4, [&](uint32_t) {
                scheduler.AddTasks(40, batch.Tasks(), &shared);
                scheduler.WaitForCounter(&shared);
                seen.fetch_add(inner.load() >= 120);
            });
        });
        CHECK(inner.load() == 4 * 40 * 3);
        CHECK(seen.load() == 4);
        CHECK(shared.IsZero());
    }
}

TEST_CASE("external: waits for other values than 0, by threads and tasks", "[external]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (int round = 0; round < 30; ++round) {
            Counter counter(10);
            std::atomic<uint32_t> back{0}, early{0};
            test::Batch waiters(4, [&](TaskScheduler &scheduler, uint32_t i) {
                scheduler.WaitForCounter(&counter, i * 2);
                back.fetch_add(1);
            });
            test::HostMayStall(test::Options(workers), [&](TaskScheduler &scheduler) {
                test::Threads threads(5, [&](uint32_t i) {
                    scheduler.WaitForCounter(&counter, i * 2);
                    early.fetch_add(counter.Value() > i * 2);  // the counter never rises here
                    back.fetch_add(1);
                });
                scheduler.AddTasks(4, waiters.Tasks());
                if (round % 2 == 0) test::Linger(50);
                for (int i = 0; i < 10; ++i) scheduler.DecrementCounter(&counter);
            });
            REQUIRE(back.load() == 9);
            REQUIRE(early.load() == 0);
        }
    }
}

TEST_CASE("external: many threads wait for one counter", "[external]") {
    test::HostQuietly(test::Options(2), [](TaskScheduler &scheduler) {
        for (int round = 0; round < 5; ++round) {
            uint32_t written = 0;  // plain: the wait must order it
            Counter counter;
            std::atomic<uint32_t> right{0}, ready{0};
            test::Batch writer(1, [&](TaskScheduler &, uint32_t) {
                if (test::SpinUntil([&] { return ready.load() == 60; })) written = 7;
            });
            scheduler.AddTask(writer[0], &counter);
            test::Threads threads(60, [&](uint32_t) {
                ready.fetch_add(1);
                scheduler.WaitForCounter(&counter);
                right.fetch_add(written == 7);
            });
            threads.Join();
            REQUIRE(right.load() == 60);
        }
    });
}

TEST_CASE("external: submissions during the end of Run are drained or refused as a whole",
          "[external]") {
    constexpr uint32_t kThreads = 4, kRounds = 150;
    for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep}) {
        for (uint32_t run = 0; run < 20; ++run) {
            std::atomic<uint32_t> faults{0}, ran{0}, accepted{0}, half{0};
            std::atomic<bool> open{false};
            SchedulerOptions options = test::Options(1 + run % 3, 18, idle);
            options.onReport = CountRefused;
            options.user = &faults;
            TaskScheduler scheduler(options);
            test::Batch batch(40, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
            std::deque<Counter> counters[kThreads];
            test::Threads threads(kThreads, [&](uint32_t self) {
                if (!test::SpinUntil([&] { return open.load(); })) return;
                t_refused = 0;
                for (uint32_t round = 0; round < kRounds && t_refused == 0; ++round) {
                    const uint32_t size = 1 + (round * 7 + self) % 40;
                    Counter &counter = counters[self].emplace_back(5);
                    if (self % 2 == 0)
                        scheduler.AddTasks(size, batch.Tasks(), &counter);
                    else
                        scheduler.AddTasksAndWait(size, batch.Tasks());
                    if (t_refused == 0)
                        accepted.fetch_add(size);
                    else if (counter.Value() != 5)
                        half.fetch_add(1);
                }
            });
            auto main = [&](TaskScheduler *running) {
                open.store(true);
                for (uint32_t i = 0; i < run * 5; ++i) running->Yield();
            };
            const Task task = MakeTask(main);
            CHECK(scheduler.Run(task.function, task.arg) == Status::Ok);
            threads.Join();
            REQUIRE(ran.load() == accepted.load());
            REQUIRE(half.load() == 0);
            REQUIRE(faults.load() == 0);
            uint32_t wrong = 0;
            for (const std::deque<Counter> &own : counters) {
                for (const Counter &counter : own) wrong += counter.Value() != 5;
            }
            REQUIRE(wrong == 0);
        }
    }
}

TEST_CASE("external: a wait that races with the end of Run ends", "[external]") {
    for (uint32_t run = 0; run < 150; ++run) {
        test::Runner runner(test::Options(1 + run % 2, 10,
                                          run % 3 == 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced));
        Counter counter(1);
        std::atomic<uint32_t> open{0};
        test::Threads threads(2, [&](uint32_t self) {
            if (!test::SpinUntil([&] { return open.load() != 0; })) return;
            if (self == 0)
                runner.scheduler.WaitForCounter(&counter);
            else
                runner.scheduler.DecrementCounter(&counter);
        });
        // Either call may be refused. A thread that was accepted keeps the run alive until the
        // other thread has called.
        CHECK(runner.Run([&](TaskScheduler &) { open.store(1); }) == Status::Ok);
        threads.Join();
        REQUIRE(runner.log.Count() == runner.log.CountOf(ReportCode::NotRunning));
    }
}

TEST_CASE("external: a task of one scheduler submits to another and blocks", "[external]") {
    test::Runner outer(test::Options(2)), inner(test::Options(2));
    std::atomic<uint32_t> wrong{0}, ran{0};
    REQUIRE(inner.scheduler.Start() == Status::Ok);
    test::Batch innerTasks(50, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(TaskScheduler::Current() != &scheduler || &scheduler != &inner.scheduler);
        ran.fetch_add(1);
    });
    test::Batch outerTasks(10, [&](TaskScheduler &scheduler, uint32_t) {
        inner.scheduler.AddTasksAndWait(50, innerTasks.Tasks());
        wrong.fetch_add(TaskScheduler::Current() != &scheduler ||
                        inner.scheduler.CurrentWorker() != kAnyWorker);
    });
    CHECK(outer.Run(test::RunsAll(outerTasks)) == Status::Ok);
    inner.scheduler.Stop();
    CHECK(ran.load() == 500);
    CHECK(wrong.load() == 0);
    CHECK(outer.log.Text() + inner.log.Text() == "");
}
