#include "weft/task_scheduler.h"

#include "support/quiet_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using test::PinnedTo;

namespace {

// Runs `body` as the main task, pinned to the calling thread.
void RunPinnedMain(test::Runner &runner, const std::function<void(TaskScheduler &)> &body) {
    auto main = [&](TaskScheduler *running) { body(*running); };
    const Task task = MakeTask(main);
    CHECK(runner.scheduler.Run(task.function, task.arg, {Priority::Normal, 0, "main"}) ==
          Status::Ok);
}

}  // namespace

TEST_CASE("pinned: a task stays on its worker, across waits, yields and submissions",
          "[pinned][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        for (test::Life life : {test::Life::Run, test::Life::Start}) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            test::Runner runner(point);
            std::atomic<uint32_t> ran{0}, wrong{0}, leavesRan{0};
            test::Batch leaves(6, [&](TaskScheduler &, uint32_t) { leavesRan.fetch_add(1); });
            const uint32_t tasks = point.workers * (point.idle == IdlePolicy::Spin ? 2 : 6);
            test::Batch batch(tasks, [&](TaskScheduler &scheduler, uint32_t i) {
                const uint32_t worker = i % point.workers;
                const std::thread::id thread = std::this_thread::get_id();
                const auto look = [&] {
                    wrong.fetch_add(scheduler.CurrentWorker() != worker ||
                                    std::this_thread::get_id() != thread);
                };
                look();
                scheduler.AddTasksAndWait(6, leaves.Tasks());
                look();
                scheduler.Yield();
                look();
                Counter counter;
                scheduler.AddTasks(6, leaves.Tasks(), &counter);
                scheduler.WaitForCounter(&counter, i % 4);
                look();
                scheduler.WaitForCounter(&counter, 0,
                                         i % 2 == 0 ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
                look();
                scheduler.AddTasksAndWait(1, leaves.Tasks(),
                                          PinnedTo((worker + 1) % point.workers));
                look();
                ran.fetch_add(1);
            });
            CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                      Counter counter;
                      for (uint32_t i = 0; i < tasks; ++i) {
                          // Each task that waits has a fiber, and one fiber is left.
                          scheduler.WaitForCounter(&counter, point.fibers - 2);
                          scheduler.AddTask(batch[i], &counter, PinnedTo(i % point.workers));
                      }
                      scheduler.WaitForCounter(&counter);
                  }) == Status::Ok);
            CHECK(ran.load() == tasks);
            CHECK(leavesRan.load() == tasks * 13);
            CHECK(wrong.load() == 0);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("pinned: submitted by tasks, in batches of any size", "[pinned][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> wrong{0};
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (uint32_t worker = 0; worker < point.workers; ++worker) {
                for (uint32_t size : {1u, 29u, 30u, 31u, 100u}) {
                    uint32_t ran = 0;  // plain: only that worker writes it
                    test::Batch batch(size, [&](TaskScheduler &running, uint32_t) {
                        wrong.fetch_add(running.CurrentWorker() != worker);
                        ++ran;
                    });
                    scheduler.AddTasksAndWait(size, batch.Tasks(), PinnedTo(worker));
                    Counter counter;
                    scheduler.AddTasks(size, batch.Tasks(), &counter, PinnedTo(worker));
                    scheduler.WaitForCounter(&counter);
                    wrong.fetch_add(ran != 2 * size);
                }
            }
        });
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("pinned: each worker is woken for its task, after short and long sleeps", "[pinned]") {
    for (IdlePolicy idle : {IdlePolicy::Sleep, IdlePolicy::Balanced, IdlePolicy::Spin}) {
        for (uint32_t workers : {1u, 2u, 8u}) {
            test::Started runner(test::Options(workers, 160, idle));
            std::atomic<uint32_t> wrong{0}, ran{0};
            for (uint32_t i = 0; i < 64; ++i) {
                test::Batch batch(1, [&](TaskScheduler &scheduler, uint32_t) {
                    wrong.fetch_add(scheduler.CurrentWorker() != i % workers);
                    ran.fetch_add(1);
                });
                // The worker may fall asleep meanwhile.
                if (i % 4 != 0 && idle != IdlePolicy::Spin) test::Linger(i * 3);
                runner.scheduler.AddTasksAndWait(1, batch.Tasks(), PinnedTo(i % workers));
            }
            runner.StopQuietly();
            CHECK(ran.load() == 64);
            CHECK(wrong.load() == 0);
        }
    }
}

TEST_CASE("pinned: a main task with worker 0 stays on the caller's thread", "[pinned][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        const std::thread::id self = std::this_thread::get_id();
        uint32_t wrong = 0;
        RunPinnedMain(runner, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 20; ++round) {
                test::Marks marks(1 + round);
                Counter counter;
                scheduler.AddTasks(marks.Count(), marks.Tasks(), &counter);
                scheduler.Yield();
                wrong += scheduler.CurrentWorker() != 0 || std::this_thread::get_id() != self;
                scheduler.WaitForCounter(&counter);
                wrong += scheduler.CurrentWorker() != 0 || std::this_thread::get_id() != self;
                wrong += marks.Wrong();
            }
        });
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
    test::Runner runner(test::Options(2));
    CHECK(runner.scheduler.Run([](TaskScheduler *, void *) {}, nullptr, PinnedTo(1)) ==
          Status::BadOption);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
}

TEST_CASE("RunPinnedTasks: worker 0 runs tasks that others post to it", "[pinned][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        const std::thread::id window = std::this_thread::get_id();
        std::atomic<uint32_t> wrong{0}, done{0};
        uint32_t ran = 0, messages = 0;  // plain: only the window's thread uses them
        test::Batch message(1, [&](TaskScheduler &scheduler, uint32_t) {
            wrong.fetch_add(scheduler.CurrentWorker() != 0 || std::this_thread::get_id() != window);
            ++messages;
        });
        test::Batch senders(4, [&](TaskScheduler &scheduler, uint32_t i) {
            for (int k = 0; k < 5; ++k) {
                if (i % 2 == 0)
                    scheduler.AddTask(message[0], nullptr, PinnedTo(0));
                else
                    scheduler.AddTasksAndWait(1, message.Tasks(), PinnedTo(0));
            }
            done.fetch_add(1);
        });
        bool met = false;
        RunPinnedMain(runner, [&](TaskScheduler &scheduler) {
            test::Threads external(2, [&](uint32_t) {
                for (int k = 0; k < 20; ++k)
                    scheduler.AddTasksAndWait(1, message.Tasks(), PinnedTo(0));
                done.fetch_add(1);
            });
            scheduler.AddTasks(4, senders.Tasks());
            met = test::YieldUntil(scheduler, [&] {
                ran += scheduler.RunPinnedTasks(3);
                return done.load() == 6;
            });
            ran += scheduler.RunPinnedTasks();
            wrong.fetch_add(scheduler.RunPinnedTasks() != 0);
        });
        CHECK(met);
        CHECK(messages == 4 * 5 + 2 * 20);
        CHECK(wrong.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("RunPinnedTasks: counts what it runs and respects its maximum", "[pinned]") {
    for (bool attached : {false, true}) {
        uint32_t ran = 0;
        std::vector<uint32_t> answers, order;
        test::Batch batch(70, [&](TaskScheduler &, uint32_t i) {
            ++ran;
            order.push_back(i);
        });
        const auto pump = [&](TaskScheduler &scheduler) {
            answers.push_back(scheduler.RunPinnedTasks());  // nothing is pinned yet
            scheduler.AddTasks(70, batch.Tasks(), nullptr, PinnedTo(attached ? 1 : 0));
            for (uint32_t max : {0u, 1u, 3u, 30u, 100u, 100u}) {
                const uint32_t before = ran;
                answers.push_back(scheduler.RunPinnedTasks(max));
                if (ran != before + answers.back()) answers.push_back(9999);
            }
        };
        if (attached) {
            test::Attached runner(test::Options(1));
            pump(runner.scheduler);
            runner.StopQuietly();
        } else {
            test::Runner runner(test::Options(1));
            RunPinnedMain(runner, pump);
            CHECK(runner.log.Text() == "");
        }
        CHECK(answers == std::vector<uint32_t>{0, 0, 1, 3, 30, 36, 0});
        uint32_t outOfOrder = 0;
        for (uint32_t i = 0; i < order.size(); ++i) outOfOrder += order[i] != i;
        CHECK(outOfOrder == 0);  // oldest first
    }
}

TEST_CASE("RunPinnedTasks: tasks that wait continue in a later call", "[pinned]") {
    for (uint32_t workers : {1u, 2u}) {
        test::Attached runner(test::Options(workers));
        Counter gate(1);
        uint32_t begun = 0, ended = 0;  // plain: only this thread uses them
        test::Batch batch(5, [&](TaskScheduler &scheduler, uint32_t) {
            ++begun;
            scheduler.WaitForCounter(&gate);
            ++ended;
        });
        runner.scheduler.AddTasks(5, batch.Tasks(), nullptr, PinnedTo(workers));
        CHECK(test::YieldUntil(runner.scheduler, [&] {
            runner.scheduler.RunPinnedTasks(1);
            return begun == 5;
        }));
        CHECK(ended == 0);
        runner.scheduler.DecrementCounter(&gate);
        CHECK(test::YieldUntil(runner.scheduler, [&] {
            runner.scheduler.RunPinnedTasks(1);
            return ended == 5;
        }));
        runner.scheduler.DetachThread();
        runner.scheduler.Stop();
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("report BadOption: tasks for a worker out of range are not submitted", "[pinned]") {
    SchedulerOptions options = test::Options(2);
    options.maxAttached = 2;
    test::Runner runner(options);
    std::atomic<uint32_t> ran{0};
    test::Batch batch(3, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    Counter counter(4);
    const auto callAll = [&](TaskScheduler &scheduler) {
        // No thread is attached as worker 2 or 3.
        for (uint32_t worker : {2u, 3u, 4u, 1000u, kAnyWorker - 1}) {
            scheduler.AddTasks(3, batch.Tasks(), &counter, PinnedTo(worker));
            scheduler.AddTask(batch[0], &counter, PinnedTo(worker));
            scheduler.AddTasksAndWait(3, batch.Tasks(), PinnedTo(worker));
        }
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        callAll(scheduler);                               // called by a task
        std::thread([&] { callAll(scheduler); }).join();  // called by a thread
    }) == Status::Ok);
    CHECK(ran.load() == 0);
    CHECK(counter.Value() == 4);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 30);
    CHECK(runner.log.Count() == 30);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "TaskOptions::worker"));
    CHECK(!runner.log.First(ReportCode::BadOption).fatal);
}

TEST_CASE("report BadOption: a pin out of range names the task and the workers that there are",
          "[pinned]") {
    const Task task{[](TaskScheduler *, void *) {}, nullptr};
    for (uint32_t workers : {0u, 2u}) {
        SchedulerOptions options = test::Options(workers);
        options.maxAttached = 3;
        test::Started runner(options);
        TaskOptions pin = test::Named("draw");
        pin.worker = 9;
        runner.scheduler.AddTask(task, nullptr, pin);
        const std::string range = workers != 0
                                      ? "workers are 0 to 1, attached threads 2 to 4"
                                      : "there are no workers, and the attached thread is 0";
        CHECK(runner.log.First(ReportCode::BadOption).what ==
              "AddTasks: TaskOptions::worker of task 'draw' is 9; " + range);
        pin.worker = workers;  // in range, but no thread is attached
        runner.scheduler.AddTask(task, nullptr, pin);
        CHECK(test::Names(runner.log.Text(),
                          "of task 'draw': no thread is attached as " + std::to_string(workers)));
        CHECK(runner.log.Count() == 2);
        runner.scheduler.Stop();
    }
    test::Runner runner(test::Options(2));
    TaskOptions pin = test::Named(nullptr);
    pin.worker = 1;
    CHECK(runner.scheduler.Run(task.function, nullptr, pin) == Status::BadOption);
    CHECK(runner.log.First(ReportCode::BadOption).what ==
          "Run: TaskOptions::worker of task 'unnamed' is 1; the calling thread is 0");
}

TEST_CASE("pinned: a pinned task runs before queued Normal tasks", "[pinned][one_worker]") {
    test::Runner runner(test::Options(1));
    constexpr uint32_t kCount = 30;
    uint32_t order = 0, pinnedAt = 0, postedAt = 0;
    test::Batch pinned(1, [&](TaskScheduler &, uint32_t) { pinnedAt = ++order; });
    test::Batch line(kCount, [&](TaskScheduler &scheduler, uint32_t) {
        if (++order != 5) return;
        postedAt = order;
        scheduler.AddTask(pinned[0], nullptr, PinnedTo(0));
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < kCount; ++i) scheduler.AddTask(line[i]);
        // The main task returns. So a loop fiber runs them.
    }) == Status::Ok);
    CHECK(postedAt == 5);
    CHECK(pinnedAt == 6);
}

TEST_CASE(
    "RunPinnedTasks: a task that pumps on an attached thread continues before the thread detaches",
    "[pinned][one_worker]") {
    test::Attached runner(test::Options(0));
    TaskScheduler &scheduler = runner.scheduler;
    bool pumped = false;
    Counter gate(1);
    // The task ends the wait of the attached thread. Then RunPinnedTasks finds this thread's fiber.
    test::Batch task(1, [&](TaskScheduler &inside, uint32_t) {
        inside.DecrementCounter(&gate);
        inside.RunPinnedTasks();
        pumped = true;
    });
    scheduler.AddTasks(1, task.Tasks());
    scheduler.WaitForCounter(&gate);
    scheduler.DetachThread();
    CHECK(pumped);
    scheduler.Stop();
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("pinned: a task that polls and yields does not keep a pinned fiber from continuing",
          "[pinned]") {
    for (uint32_t fibers : {3u, 48u}) {
        INFO(fibers << " fibers");
        test::Runner runner(test::Options(1, fibers));
        bool done = false;
        uint32_t turns = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter gate(1), counter;
            test::Batch pinned(
                1, [&](TaskScheduler &inside, uint32_t) { inside.WaitForCounter(&gate); });
            scheduler.AddTasks(1, pinned.Tasks(), &counter, PinnedTo(0));
            scheduler.Yield();  // the pinned task begins and waits
            scheduler.DecrementCounter(&gate);
            while (!(done = scheduler.PollCounter(&counter)) && ++turns < 100000) scheduler.Yield();
        }) == Status::Ok);
        CHECK(done);
        CHECK(turns < 100);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("pinned: a pinned task that polls and yields does not keep another one from beginning",
          "[pinned]") {
    for (bool inactive : {false, true}) {
        INFO((inactive ? "inactive" : "active"));
        test::Runner runner(test::Options(2));
        bool done = false;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            if (inactive) scheduler.SetActiveWorkers(1);
            test::Batch other(1, [](TaskScheduler &, uint32_t) {});
            test::Batch poller(1, [&](TaskScheduler &inside, uint32_t) {
                Counter counter;
                inside.AddTasks(1, other.Tasks(), &counter, PinnedTo(1));
                for (uint32_t turns = 0; !(done = inside.PollCounter(&counter)) && turns < 100000;
                     ++turns) {
                    inside.Yield();
                }
                inside.WaitForCounter(&counter);
            });
            scheduler.AddTasksAndWait(1, poller.Tasks(), PinnedTo(1));
        }) == Status::Ok);
        CHECK(done);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("RunPinnedTasks: a pinned task that yields lets the caller continue",
          "[pinned][one_worker]") {
    test::Runner runner(test::Options(1));
    bool returned = false, seen = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch poller(1, [&](TaskScheduler &inside, uint32_t) {
            for (uint32_t turns = 0; !(seen = returned) && turns < 100000; ++turns) inside.Yield();
        });
        Counter counter;
        scheduler.AddTasks(1, poller.Tasks(), &counter, PinnedTo(0));
        scheduler.RunPinnedTasks();
        returned = true;
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(seen);
    CHECK(test::Faults(runner.log) == "");
}

namespace {

// Tasks that wait for `gate` hold all fibers. Then an attached thread pumps. So `body`
// runs on the attached thread's own stack.
void RunInPlace(Counter &gate, test::Runner &runner, std::function<void(TaskScheduler &)> body) {
    TaskScheduler &scheduler = runner.scheduler;
    const uint32_t fibers = test::FibersOf(test::Options(1, 2));
    Counter held(fibers), done(1);
    test::Batch holder(fibers, [&](TaskScheduler &running, uint32_t) {
        running.DecrementCounter(&held);
        running.WaitForCounter(&gate);
    });
    test::Batch pinned(1, [&](TaskScheduler &running, uint32_t) {
        body(running);
        running.DecrementCounter(&done);
    });
    REQUIRE(scheduler.Start() == Status::Ok);
    scheduler.AddTasks(fibers, holder.Tasks());
    scheduler.WaitForCounter(&held);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    scheduler.AddTask(pinned[0], nullptr, PinnedTo(scheduler.CurrentWorker()));
    CHECK(scheduler.RunPinnedTasks() == 1);
    CHECK(done.IsZero());
    scheduler.DetachThread();
    CHECK(scheduler.CurrentWorker() == kAnyWorker);
    scheduler.Stop();
}

}  // namespace

TEST_CASE("RunPinnedTasks: a task on the caller's own stack does not wait for itself in WaitIdle",
          "[pinned]") {
    test::Runner runner(test::Options(1, 2));
    Counter gate(1);
    RunInPlace(gate, runner, [&](TaskScheduler &running) {
        running.DecrementCounter(&gate);
        running.WaitIdle();
    });
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("report WrongThread: DetachThread by a task on the caller's own stack", "[pinned]") {
    test::Runner runner(test::Options(1, 2));
    Counter gate(1);
    RunInPlace(gate, runner, [&](TaskScheduler &running) {
        running.DetachThread();
        CHECK(running.CurrentWorker() == 1);
        running.DecrementCounter(&gate);
    });
    CHECK(test::Names(runner.log.First(ReportCode::WrongThread).what, "by a task"));
}
