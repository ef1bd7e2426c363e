// Tests reports of stalls: beside deadlines, without a wake-up, and those of a pool without free
// fibers.
#include "support/quiet_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/deferred.h"
#include "weft/external_work.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("report Stalled: a deadlock beside a task that is due in an hour", "[stall][deferred]") {
    for (const uint32_t workers : {1u, 2u}) {
        SchedulerOptions options = test::Options(workers);
        options.lockHolders = true;
        test::Started runner(options);
        TaskScheduler &scheduler = runner.scheduler;
        Mutex first(scheduler), second(scheduler);
        Counter both(2), all;
        const auto locks = [&both](Mutex &a, Mutex &b) {
            return [&](TaskScheduler &running, uint32_t) {
                a.lock();
                running.DecrementCounter(&both);
                running.WaitForCounter(&both);
                b.lock();
                b.unlock();
                a.unlock();
            };
        };
        test::Batch one(1, locks(first, second)), other(1, locks(second, first));
        DeferredHandle handle;
        AddTaskAt(scheduler, Now() + 1h, {[](TaskScheduler *, void *) {}, nullptr}, nullptr, {},
                  &handle);
        scheduler.AddTask(one[0], &all, test::Named("one"));
        scheduler.AddTask(other[0], &all, test::Named("other"));
        CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; }));
        CHECK(test::Names(runner.log.First(ReportCode::Stalled).what, "in a cycle: fiber "));
        second.unlock();
        scheduler.WaitForCounter(&all);
        Withdraw(scheduler, handle);
        scheduler.Stop();
    }
}

TEST_CASE("report Stalled: not while a task sleeps that may end the wait", "[stall]") {
    SchedulerOptions options = test::Options(1);
    options.stallMilliseconds = 1;
    test::RunQuietly(options, [](TaskScheduler &scheduler) {
        Counter event(1), all;
        test::Batch sets(1, [&](TaskScheduler &running, uint32_t) {
            SleepFor(running, 20ms);
            running.DecrementCounter(&event);
        });
        scheduler.AddTask(sets[0], &all);
        scheduler.WaitForCounter(&event);
        scheduler.WaitForCounter(&all);
    });
}

TEST_CASE("report Stalled: with workers that never sleep, and with blocked threads", "[stall]") {
    for (const IdlePolicy idle : {IdlePolicy::Spin, IdlePolicy::Balanced, IdlePolicy::Sleep}) {
        for (const uint32_t workers : {1u, 3u}) {
            INFO(workers << " workers, policy " << static_cast<int>(idle));
            test::Runner runner(test::Options(workers, 18, idle));
            Counter never(1);
            std::thread rescuer([&] {
                test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
                runner.scheduler.DecrementCounter(&never);
            });
            test::Batch blocks(workers - 1, [&](TaskScheduler &running, uint32_t) {
                running.WaitForCounter(&never, Meanwhile::Nothing);
            });
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTasks(workers - 1, blocks.Tasks(), nullptr, test::Named("blocks"));
                scheduler.WaitForCounter(&never);
            }) == Status::Ok);
            rescuer.join();
            CHECK(runner.log.Count() == 1);
            const std::string what = runner.log.First(ReportCode::Stalled).what;
            INFO(what);
            CHECK(test::Names(what, workers == 1 ? "1 fiber waits" : "3 fibers wait"));
            CHECK(test::Names(what, "'main' for counter "));
        }
    }
}

TEST_CASE("report Stalled: after the last external work has ended, without a wake-up", "[stall]") {
    test::Started runner(test::Options(2));
    Counter never(1), begun(1), done;
    test::Batch waits(1, [&](TaskScheduler &running, uint32_t) {
        running.DecrementCounter(&begun);
        running.WaitForCounter(&never);
    });
    ExternalWork::Begin(runner.scheduler);
    runner.scheduler.AddTask(waits[0], &done);
    runner.scheduler.WaitForCounter(&begun);
    ExternalWork::End(runner.scheduler);
    CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; }));
    runner.scheduler.DecrementCounter(&never);
    runner.scheduler.WaitForCounter(&done);
    runner.scheduler.Stop();
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("report Stalled: a thread outside submits a deferred task while all workers sleep",
          "[stall][deferred]") {
    test::Started runner(test::Options(1, 18, IdlePolicy::Sleep));
    test::Marks marks(2);
    Counter never(1), done;
    runner.scheduler.AddTasksAndWait(1, marks.Tasks());
    AddTaskAfter(runner.scheduler, &never, 0, marks[1], &done);
    CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; }));
    CHECK(test::Names(runner.log.First(ReportCode::Stalled).what,
                      "1 submitted to come after a counter"));
    runner.scheduler.DecrementCounter(&never);
    runner.scheduler.WaitForCounter(&done);
    runner.scheduler.Stop();
    CHECK(marks.Wrong() == 0);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("report OutOfFibers: all fibers wait, and the run continues", "[stall][grid]") {
    for (const bool hasDeadline : {false, true}) {
        for (const uint32_t workers : {1u, 2u, 8u}) {
            for (const IdlePolicy idle :
                 {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep}) {
                INFO(workers << " workers, policy " << static_cast<int>(idle));
                test::Runner runner(test::Options(workers, 4, idle));
                std::atomic<uint32_t> finished{0};
                Counter gate(1);
                bool isReported = false;
                test::Batch waiters(50, [&](TaskScheduler &scheduler, uint32_t) {
                    scheduler.WaitForCounter(&gate);
                    finished.fetch_add(1);
                });
                std::thread external([&] {
                    isReported = test::SpinUntil(
                        [&] { return runner.log.CountOf(ReportCode::OutOfFibers) != 0; });
                    runner.scheduler.DecrementCounter(&gate);
                });
                CHECK(runner.Run([&](TaskScheduler &scheduler) {
                    scheduler.AddTasks(50, waiters.Tasks());
                    hasDeadline ? static_cast<void>(WaitForCounterFor(scheduler, &gate, 1h))
                                : scheduler.WaitForCounter(&gate);
                }) == Status::Ok);
                external.join();
                CHECK(isReported);
                CHECK(finished.load() == 50);
                CHECK(runner.log.Count() == 1);
                const test::LoggedReport report = runner.log.First(ReportCode::OutOfFibers);
                CHECK(test::Names(report.what, " fibers wait"));
                CHECK(test::Names(report.hint, "SchedulerOptions::fibers"));
                CHECK(!report.fatal);
            }
        }
    }
}

TEST_CASE("report OutOfFibers: not while outside work is declared", "[stall]") {
    test::Runner runner(test::Options(1, 4));
    Counter gate(1);
    std::thread external([&] {
        std::this_thread::sleep_for(8ms * test::Options(1).stallMilliseconds);
        runner.scheduler.DecrementCounter(&gate);
        ExternalWork::End(runner.scheduler);
    });
    test::Batch waiters(
        50, [&](TaskScheduler &scheduler, uint32_t) { scheduler.WaitForCounter(&gate); });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ExternalWork::Begin(scheduler);
        scheduler.AddTasks(50, waiters.Tasks());
    }) == Status::Ok);
    external.join();
    CHECK(runner.log.Text() == "");
}

TEST_CASE("watchdog: tasks that a wait runs on its own stack end, too", "[stall][watchdog]") {
    constexpr std::chrono::milliseconds kLimit(40);
    bool isSilent = false;
    // A thread of the test may be kept from running for so long that a report is right.
    for (int run = 0; run < 10 && !isSilent; ++run) {
        SchedulerOptions options = test::Options(1);
        options.watchdogMilliseconds = kLimit.count();
        test::Runner runner(options);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            test::Batch batch(64, [&](TaskScheduler &, uint32_t) {
                const Clock::time_point end = Now() + 4 * kLimit / 64;
                while (Now() < end) {
                }
            });
            scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
        }) == Status::Ok);
        isSilent = runner.log.Text() == "";
    }
    CHECK(isSilent);
}
