#include "weft/task_scheduler.h"

#include "support/quiet_run.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using test::PinnedTo;

// Returns true if the caller is worker `index` and still on thread `thread`.
bool StillHere(TaskScheduler &scheduler, uint32_t index, std::thread::id thread) {
    return scheduler.CurrentWorker() == index && std::this_thread::get_id() == thread &&
           TaskScheduler::Current() == &scheduler;
}

}  // namespace

TEST_CASE("attach: index and identity, before, while and after it is attached", "[attach][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        for (test::Life life : {test::Life::Run, test::Life::Start}) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            uint32_t wrong = 0, fiber = 0;
            test::HostMayStall(point, life, [&](TaskScheduler &scheduler) {
                for (int round = 0; round < 3; ++round) {
                    wrong += scheduler.AttachThread() != Status::Ok;
                    wrong += scheduler.CurrentWorker() != point.workers ||
                             TaskScheduler::Current() != &scheduler;
                    wrong += scheduler.WorkerCount() != point.workers;
                    fiber = scheduler.CurrentFiber();
                    wrong += scheduler.AttachThread() != Status::AlreadyRunning;
                    scheduler.DetachThread();
                    wrong += scheduler.CurrentWorker() != kAnyWorker ||
                             TaskScheduler::Current() != nullptr;
                    wrong += scheduler.CurrentFiber() != kAnyWorker;
                }
            });
            CHECK(wrong == 0);
            CHECK(fiber >= point.fibers);  // not a fiber of the pool
            CHECK(fiber != kAnyWorker);
        }
    }
}

TEST_CASE("attach: a thread stays on its own stack and fiber across waits and yields",
          "[attach][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> wrong{0};
        test::HostMayStall(point, [&](TaskScheduler &scheduler) {
            test::Threads threads(3, [&](uint32_t) {
                const std::thread::id self = std::this_thread::get_id();
                if (scheduler.AttachThread() != Status::Ok) wrong.fetch_add(1000);
                const uint32_t index = scheduler.CurrentWorker(), fiber = scheduler.CurrentFiber();
                if (index < point.workers || index >= point.workers + 3) wrong.fetch_add(1000);
                for (uint32_t round = 0; round < 10; ++round) {
                    test::Marks marks(1 + round * 7);
                    Counter counter;
                    scheduler.AddTasks(marks.Count(), marks.Tasks(), &counter);
                    scheduler.WaitForCounter(
                        &counter, 0, round % 2 == 0 ? ResumeOn::AnyWorker : ResumeOn::SameWorker);
                    wrong.fetch_add(marks.Wrong(1) + !StillHere(scheduler, index, self));
                    scheduler.Yield();
                    wrong.fetch_add(!StillHere(scheduler, index, self));
                    scheduler.AddTasksAndWait(marks.Count(), marks.Tasks());
                    wrong.fetch_add(marks.Wrong(2) + !StillHere(scheduler, index, self));
                    scheduler.WaitIdle();
                    wrong.fetch_add(!StillHere(scheduler, index, self) ||
                                    scheduler.CurrentFiber() != fiber);
                }
                scheduler.DetachThread();
            });
        });
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("attach: at most maxAttached threads, each with its own index", "[attach]") {
    SchedulerOptions options = test::Options(2, 18);
    options.maxAttached = 3;
    test::HostQuietly(options, [](TaskScheduler &scheduler) {
        for (int round = 0; round < 10; ++round) {
            std::atomic<uint32_t> taken[3] = {}, answered{0}, wrong{0};
            test::Threads threads(5, [&](uint32_t) {
                const Status status = scheduler.AttachThread();
                const uint32_t index = scheduler.CurrentWorker(), slot = index - 2;
                if (status == Status::Ok) {
                    slot < 3 ? taken[slot].fetch_add(1) : wrong.fetch_add(1);
                } else if (status != Status::TooManyThreads || index != kAnyWorker) {
                    wrong.fetch_add(1);
                }
                answered.fetch_add(1);
                test::SpinUntil([&] { return answered.load() == 5; });
                if (status == Status::Ok) scheduler.DetachThread();
            });
            threads.Join();
            REQUIRE(wrong.load() == 0);
            for (const std::atomic<uint32_t> &each : taken) REQUIRE(each.load() == 1);
        }
    });
}

TEST_CASE("attach: workers and tasks cannot attach to their own scheduler", "[attach]") {
    test::Runner runner(test::Options(2));
    Status asMain = Status::Ok, asTask = Status::Ok;
    test::Batch task(
        1, [&](TaskScheduler &scheduler, uint32_t) { asTask = scheduler.AttachThread(); });
    test::RunQuietly(runner, [&](TaskScheduler &scheduler) {
        asMain = scheduler.AttachThread();
        scheduler.AddTasksAndWait(1, task.Tasks());
    });
    CHECK(asMain == Status::AlreadyRunning);
    CHECK(asTask == Status::AlreadyRunning);
    CHECK(runner.scheduler.AttachThread() == Status::NotRunning);
}

TEST_CASE("report WrongThread: DetachThread from a task, or by a thread that is not attached",
          "[attach]") {
    test::Runner runner(test::Options(1));
    runner.scheduler.DetachThread();  // the scheduler does not run
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 1);
    std::atomic<uint32_t> wrong{0};
    test::Batch detach(1, [&](TaskScheduler &scheduler, uint32_t) {
        const uint32_t before = scheduler.CurrentWorker();
        scheduler.DetachThread();
        wrong.fetch_add(scheduler.CurrentWorker() != before);
    });
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    runner.scheduler.DetachThread();
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 2);
    runner.scheduler.AddTasksAndWait(1, detach.Tasks());  // runs on the worker
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 3);
    REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
    runner.scheduler.AddTasksAndWait(1, detach.Tasks(), PinnedTo(1));  // on this thread
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 4);
    CHECK(runner.scheduler.CurrentWorker() == 1);
    runner.scheduler.DetachThread();
    runner.scheduler.Stop();
    CHECK(wrong.load() == 0);
    CHECK(runner.log.Count() == 4);
    CHECK(test::Names(runner.log.First(ReportCode::WrongThread).what, "DetachThread"));
}

TEST_CASE("attach: DetachThread first runs the tasks that are pinned to the thread",
          "[attach][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        const std::thread::id self = std::this_thread::get_id();
        const uint32_t index = point.workers;
        uint32_t wrong = 0, ran = 0;  // plain: only this thread uses them
        test::Batch leaf(1, [](TaskScheduler &, uint32_t) {});
        test::Batch later(5, [&](TaskScheduler &scheduler, uint32_t) {
            wrong += !StillHere(scheduler, index, self);
            ++ran;
        });
        test::Batch batch(35, [&](TaskScheduler &scheduler, uint32_t i) {
            wrong += !StillHere(scheduler, index, self);
            if (i % 3 == 0) scheduler.AddTasksAndWait(1, leaf.Tasks());
            if (i % 5 == 0) scheduler.Yield();
            if (i == 7) scheduler.AddTasks(5, later.Tasks(), nullptr, PinnedTo(index));
            wrong += !StillHere(scheduler, index, self);
            ++ran;
        });
        test::HostMayStall(point, [&](TaskScheduler &scheduler) {
            for (int round = 0; round < 5; ++round) {
                REQUIRE(scheduler.AttachThread() == Status::Ok);
                std::thread([&] {
                    scheduler.AddTasks(35, batch.Tasks(), nullptr, PinnedTo(index));
                }).join();
                scheduler.DetachThread();
                REQUIRE(ran >= 35u * (round + 1));
            }
        });
        CHECK(wrong == 0);
        CHECK(ran == 5 * 40);
    }
}

TEST_CASE("attach: tasks that run during DetachThread may pin tasks to the thread, by every call",
          "[attach][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        const std::thread::id self = std::this_thread::get_id();
        const TaskOptions here = PinnedTo(point.workers);
        uint32_t wrong = 0, ran = 0;  // plain: only this thread uses them
        Counter counter;
        test::Batch last(5, [&](TaskScheduler &scheduler, uint32_t) {
            wrong += !StillHere(scheduler, point.workers, self);
            ++ran;
        });
        test::Batch later(2, [&](TaskScheduler &scheduler, uint32_t i) {
            wrong += !StillHere(scheduler, point.workers, self);
            i == 0 ? scheduler.AddTasks(5, last.Tasks(), &counter, here)
                   : scheduler.AddTask(last[0], nullptr, here);
        });
        test::Batch first(1, [&](TaskScheduler &scheduler, uint32_t) {
            scheduler.AddTask(later[0], nullptr, here);
            scheduler.AddTask(later[1], &counter, here);
            scheduler.AddTasksAndWait(5, last.Tasks(), here);
            wrong += ran < 5 || !StillHere(scheduler, point.workers, self);
        });
        test::HostMayStall(point, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 1; round <= 5; ++round) {
                REQUIRE(scheduler.AttachThread() == Status::Ok);
                scheduler.AddTask(first[0], nullptr, here);
                scheduler.DetachThread();
                REQUIRE(ran == 11 * round);
                REQUIRE(counter.IsZero());
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("attach: the last task in the queues of a thread may pin tasks to it during DetachThread",
          "[attach]") {
    uint32_t ran = 0;
    test::Batch pinned(1, [&](TaskScheduler &, uint32_t) { ++ran; });
    test::Batch queued(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.AddTask(pinned[0], nullptr, PinnedTo(scheduler.CurrentWorker()));
    });
    test::HostQuietly(test::Options(0), [&](TaskScheduler &scheduler) {
        for (uint32_t round = 1; round <= 3; ++round) {
            REQUIRE(scheduler.AttachThread() == Status::Ok);
            scheduler.AddTask(queued[0]);
            scheduler.DetachThread();
            CHECK(ran == round);
        }
    });
}

TEST_CASE("report BadOption: tasks for a slot without an attached thread are not submitted",
          "[attach]") {
    for (uint32_t workers : {0u, 2u}) {
        test::Started runner(test::Options(workers));
        std::atomic<uint32_t> ran{0};
        test::Batch batch(3, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        Counter counter;
        // No thread has attached yet.
        runner.scheduler.AddTasks(3, batch.Tasks(), &counter, PinnedTo(workers));
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
        REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        runner.scheduler.AddTasksAndWait(3, batch.Tasks(), PinnedTo(workers));
        CHECK(ran.load() == 3);
        // A slot that no thread has taken.
        runner.scheduler.AddTasks(3, batch.Tasks(), &counter, PinnedTo(workers + 1));
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
        runner.scheduler.DetachThread();
        // The thread has detached.
        runner.scheduler.AddTasks(3, batch.Tasks(), &counter, PinnedTo(workers));
        runner.scheduler.AddTasksAndWait(3, batch.Tasks(), PinnedTo(workers));  // must return
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 4);
        CHECK(counter.IsZero());
        runner.scheduler.Stop();
        CHECK(ran.load() == 3);
        CHECK(runner.log.Count() == 4);
        CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "TaskOptions::worker"));
    }
}

TEST_CASE("attach: tasks posted during DetachThread run on the thread or are refused", "[attach]") {
    for (uint32_t workers : {1u, 3u}) {
        test::Started runner(test::Options(workers, 18));
        std::atomic<uint32_t> ran{0}, left{3};
        test::Batch batch(2, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::Threads posters(3, [&](uint32_t self) {
            for (int i = 0; i < 400; ++i) {
                if (self == 0)
                    runner.scheduler.AddTasksAndWait(2, batch.Tasks(), PinnedTo(workers));
                else
                    runner.scheduler.AddTasks(2, batch.Tasks(), nullptr, PinnedTo(workers));
            }
            left.fetch_sub(1);
        });
        while (left.load() != 0) {
            if (runner.scheduler.AttachThread() != Status::Ok) break;
            runner.scheduler.RunPinnedTasks();
            runner.scheduler.DetachThread();
        }
        posters.Join();
        runner.scheduler.Stop();
        CHECK(ran.load() + 2 * runner.log.CountOf(ReportCode::BadOption) == 3 * 400 * 2);
        CHECK(runner.log.Count() == runner.log.CountOf(ReportCode::BadOption));
    }
}

TEST_CASE("attach: a task of another scheduler attaches, waits and detaches", "[attach]") {
    for (uint32_t workers : {0u, 2u}) {
        test::Runner outer(test::Options(1)), inner(test::Options(workers));
        uint32_t wrong = 0;
        test::Marks marks(50);
        REQUIRE(inner.scheduler.Start() == Status::Ok);
        CHECK(outer.Run([&](TaskScheduler &scheduler) {
            wrong += inner.scheduler.AttachThread() != Status::Ok;
            wrong += TaskScheduler::Current() != &inner.scheduler ||
                     inner.scheduler.CurrentWorker() != workers;
            inner.scheduler.AddTasksAndWait(50, marks.Tasks());
            inner.scheduler.Yield();
            inner.scheduler.DetachThread();
            wrong += TaskScheduler::Current() != &scheduler || scheduler.CurrentWorker() != 0;
            scheduler.Yield();
            test::Marks own(10);
            scheduler.AddTasksAndWait(10, own.Tasks());
            wrong += own.Wrong();
        }) == Status::Ok);
        inner.scheduler.Stop();
        CHECK(wrong == 0);
        CHECK(marks.Wrong() == 0);
        CHECK(outer.log.Text() + inner.log.Text() == "");
    }
}

TEST_CASE("report WrongThread: DetachThread in the wrong order names the scheduler to detach first",
          "[attach]") {
    SchedulerOptions options = test::Options(1);
    options.threadName = "streaming";
    test::Started first(test::Options(1)), second(options);
    REQUIRE(first.scheduler.AttachThread() == Status::Ok);
    REQUIRE(second.scheduler.AttachThread() == Status::Ok);
    first.scheduler.DetachThread();
    CHECK(second.scheduler.CurrentWorker() == 1);  // no effect
    second.scheduler.DetachThread();
    CHECK(first.scheduler.CurrentWorker() == 1);
    // a task of another scheduler, on a thread that is attached
    test::Runner third(test::Options(1));
    CHECK(third.Run([&](TaskScheduler &) { first.scheduler.DetachThread(); }) == Status::Ok);
    CHECK(first.scheduler.CurrentWorker() == 1);
    first.scheduler.DetachThread();
    CHECK(first.scheduler.CurrentWorker() == kAnyWorker);
    first.scheduler.Stop();
    second.scheduler.Stop();
    test::CheckOnly(first.log, ReportCode::WrongThread, 2);
    char name[32];
    std::snprintf(name, sizeof name, "%p", static_cast<void *>(&second.scheduler));
    const test::LoggedReport report = first.log.First(ReportCode::WrongThread);
    test::CheckNames(report.what,
                     {"that has attached to scheduler", std::string(name) + " ('streaming')"});
    CHECK(test::Names(report.hint, "Detach the thread from that scheduler first"));
    CHECK(test::Names(first.log.Text(), "in a task on a thread that runs scheduler"));
    CHECK(second.log.Text() + third.log.Text() == "");
}

TEST_CASE("attach: several threads attach and detach while others submit", "[attach]") {
    for (uint32_t fibers : {1u, 2u, 3u, 128u}) {
        INFO(fibers << " fibers");
        std::atomic<uint32_t> wrong{0};
        test::HostMayStall(test::Options(2, fibers + 1), [&](TaskScheduler &scheduler) {
            test::Threads threads(4, [&](uint32_t self) {
                for (int round = 0; round < 30; ++round) {
                    const bool attach = self != 3 && scheduler.AttachThread() == Status::Ok;
                    test::Marks marks(1 + (self + round) % 33);
                    scheduler.AddTasksAndWait(marks.Count(), marks.Tasks(),
                                              self == 1 ? TaskOptions{} : test::kHigh);
                    wrong.fetch_add(marks.Wrong());
                    if (attach) scheduler.DetachThread();
                }
            });
        });
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("report Stalled: names an attached thread that waits", "[attach]") {
    test::Started runner(test::Options(0));
    REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
    Counter gate(1);
    bool reported = false;
    std::thread external([&] {
        reported = test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
        runner.scheduler.DecrementCounter(&gate);
    });
    runner.scheduler.WaitForCounter(&gate);
    external.join();
    runner.scheduler.DetachThread();
    runner.scheduler.Stop();
    CHECK(reported);
    test::CheckNames(runner.log.First(ReportCode::Stalled).what,
                     {"1 fiber waits", "'attached thread'"});
}
