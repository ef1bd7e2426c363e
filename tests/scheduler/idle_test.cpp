#include "weft/task_scheduler.h"

#include "support/child_process.h"
#include "support/quiet_run.h"
#include "weft/external_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

// Workers without a fiber sleep on their thread stacks and cannot run tasks. A wake-up for a task
// must not go to such a worker while a worker with a fiber sleeps.
TEST_CASE("idle: a wake-up for a task reaches a worker that can run tasks", "[idle][grid]") {
    for (uint32_t workers : {3u, 8u}) {
        for (IdlePolicy idle : {IdlePolicy::Sleep, IdlePolicy::Balanced}) {
            for (int run = 0; run < 10; ++run) {
                INFO(workers << " workers, " << (idle == IdlePolicy::Sleep ? "Quiet" : "Balanced"));
                uint32_t rounds = 0;
                test::RunQuietly(test::Options(workers, 2, idle), [&](TaskScheduler &scheduler) {
                    for (; rounds < 10; ++rounds) {
                        std::atomic<bool> ran{false};
                        test::Batch batch(1, [&](TaskScheduler &, uint32_t) { ran.store(true); });
                        Counter counter;
                        test::Linger(100);
                        scheduler.AddTask(batch[0], &counter);
                        if (rounds % 2 == 0 && !test::SpinUntil([&] { return ran.load(); }))
                            std::abort();
                        scheduler.WaitForCounter(&counter);
                    }
                });
                REQUIRE(rounds == 10);
            }
        }
    }
}

TEST_CASE("report Stalled: names the waiting tasks, and an external thread can end the wait",
          "[idle]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Sleep}) {
            INFO(workers << " workers");
            test::Runner runner(test::Options(workers, 18, idle));
            Counter gate(1);
            bool reported = false;
            std::thread external([&] {
                reported =
                    test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
                runner.scheduler.DecrementCounter(&gate);
            });
            test::Batch waiter = test::WaitsFor(gate);
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTask(waiter[0], nullptr, test::Named("stuck task"));
                scheduler.WaitForCounter(&gate);
            }) == Status::Ok);
            external.join();
            CHECK(reported);
            const test::LoggedReport report = runner.log.First(ReportCode::Stalled);
            test::CheckNames(report.what, {"2 fibers wait", "'stuck task'", "'main'"});
            CHECK(test::Names(report.hint, "Lower those counters"));
            CHECK(!report.fatal);
            CHECK(runner.log.CountOf(ReportCode::Stalled) == 1);
        }
    }
}

TEST_CASE("report Stalled: a task in WaitIdle runs inline on its waiter", "[idle]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        SchedulerOptions options = test::Options(1);
        options.onReport = [](const Report &report, void *) {
            std::_Exit(report.code == ReportCode::Stalled ? 7 : 8);
        };
        TaskScheduler scheduler(options);
        auto idle = [](TaskScheduler *self) { self->WaitIdle(); };
        auto main = [&](TaskScheduler *self) {
            Counter counter;
            self->AddTask(MakeTask(idle), &counter);
            self->WaitForCounter(&counter);
        };
        const Task task = MakeTask(main);
        scheduler.Run(task.function, task.arg);
    });
    CHECK(child.exited);
    CHECK(child.code == 7);
}

TEST_CASE("ExternalWork: while one exists, a run in which all tasks wait is not reported",
          "[idle]") {
    for (const bool isExpected : {false, true}) {
        std::atomic<uint32_t> parked{0};
        SchedulerOptions options = test::Options(1, 18, IdlePolicy::Sleep);
        options.trace.user = &parked;
        options.trace.kinds = TraceHooks::Bit(TraceKind::Park);
        options.trace.event = [](const TraceEvent &, void *user) {
            static_cast<std::atomic<uint32_t> *>(user)->fetch_add(1);
        };
        test::Runner runner(options);
        Counter gate(1);
        bool slept = false;
        test::Threads external(1, [&](uint32_t) {
            // The worker looks for a stall before it parks.
            slept = test::SpinUntil([&] { return parked.load() != 0; });
            if (isExpected)
                std::this_thread::sleep_for(
                    std::chrono::milliseconds(4 * options.stallMilliseconds));
            else
                test::SpinUntil([&] { return runner.log.Count() != 0; });
            runner.scheduler.DecrementCounter(&gate);
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            if (isExpected) ExternalWork::Begin(scheduler);
            scheduler.WaitForCounter(&gate);
            if (isExpected) ExternalWork::End(scheduler);
        }) == Status::Ok);
        external.Join();
        CHECK(slept);
        test::CheckOnly(runner.log, ReportCode::Stalled, isExpected ? 0 : 1);
    }
}

TEST_CASE("idle: no report of waiters that continue from time to time", "[idle]") {
    using Clock = std::chrono::steady_clock;
    constexpr uint32_t kTurns = 10;
    SchedulerOptions options = test::Options(1, 18, IdlePolicy::Sleep);
    options.stallMilliseconds = 1000;
    test::Runner runner(options);
    Counter turns(kTurns);
    std::atomic<bool> began{false};
    Clock::duration longest{};
    test::Threads external(1, [&](uint32_t) {
        test::SpinUntil([&] { return began.load(); });
        Clock::time_point before = Clock::now();
        for (uint32_t i = 0; i < kTurns; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
            runner.scheduler.DecrementCounter(&turns);
            const Clock::time_point now = Clock::now();
            longest = std::max(longest, now - before);
            before = now;
        }
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        began.store(true);
        for (uint32_t i = kTurns; i > 0; --i) scheduler.WaitForCounter(&turns, i - 1);
    }) == Status::Ok);
    external.Join();
    // If this process had no processor for so long, the stall was real.
    CHECK((runner.log.Text() == "" ||
           longest >= std::chrono::milliseconds(options.stallMilliseconds)));
}
