#include "weft/data/cancellation.h"

#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/algorithms/parallel_for.h"
#include "weft/algorithms/parallel_reduce.h"

#include <atomic>
#include <chrono>
#include <functional>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WaitForCounterOrCancel: ended by the counter, by the token, or by both",
          "[cancel][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (int round = 0; round < 20; ++round) {
                CancelSource source(scheduler);
                const CancelToken token = source.Token();
                std::atomic<uint32_t> written{0};
                test::Batch tasks(3, [&](TaskScheduler &running, uint32_t i) {
                    if (round % 2 != 0) running.Yield();
                    ++written;
                    if (i != 0) source.Cancel();  // two of the tasks cancel
                });
                Counter counter, open(1);
                scheduler.AddTask(tasks[0], &counter);
                wrong += !WaitForCounterOrCancel(scheduler, &counter, token);
                wrong += written != 1 || token.IsCancelled();
                scheduler.AddTasks(2, tasks.Tasks() + 1, &counter);
                wrong += WaitForCounterOrCancel(scheduler, &open, token);
                wrong += !token.IsCancelled() || !source.IsCancelled() ||
                         !CancelToken(token).IsCancelled();
                scheduler.WaitForCounter(&counter);
                wrong += written != 3;
                wrong += !WaitForCounterOrCancel(scheduler, &counter, token);  // both have come
                wrong += WaitForCounterOrCancel(scheduler, &open, token);
                const Clock::time_point deadline = Now() + std::chrono::microseconds(100);
                wrong += WaitForCounterOrCancel(scheduler, &open, CancelSource(scheduler).Token(),
                                                deadline);
                wrong += Now() < deadline;
                wrong += open.Value() != 1;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WaitForCounterOrCancel: one cancellation ends the waits of many tasks and threads",
          "[cancel][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> cancelled{0}, unsure{0};
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  CancelSource source(scheduler);
                  Counter never(1), done;
                  int reason = 0;
                  const auto wait = [&](TaskScheduler &running, uint32_t) {
                      cancelled += !WaitForCounterOrCancel(running, &never, source.Token());
                      unsure += reason != 5;
                  };
                  test::Batch tasks(30, wait);
                  scheduler.AddTasks(tasks.Count(), tasks.Tasks(), &done);
                  test::Threads threads(3, [&](uint32_t i) { wait(scheduler, i); });
                  reason = 5;
                  source.Cancel();
                  threads.Join();
                  scheduler.WaitForCounter(&done);
              }) == Status::Ok);
        CHECK(cancelled == 33);
        CHECK(unsure == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("CancelToken: without a source it is never cancelled", "[cancel]") {
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        bool ran = false;
        test::Batch task(1, [&](TaskScheduler &, uint32_t) { ran = true; });
        Counter counter;
        scheduler.AddTask(task[0], &counter);
        wrong += !WaitForCounterOrCancel(scheduler, &counter, CancelToken());
        wrong += !ran || CancelToken().IsCancelled();
        wrong +=
            !SleepUntilOrCancel(scheduler, Now() + std::chrono::microseconds(50), CancelToken());
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("SleepUntilOrCancel: ends at the deadline or when it is cancelled", "[cancel]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CancelSource source(scheduler);
        const Clock::time_point soon = Now() + std::chrono::milliseconds(1);
        wrong += !SleepUntilOrCancel(scheduler, soon, source.Token());
        wrong += Now() < soon;
        const Clock::time_point late = Now() + std::chrono::hours(100);
        test::Batch cancel(1, [&](TaskScheduler &, uint32_t) { source.Cancel(); });
        scheduler.AddTask(cancel[0]);
        wrong += SleepUntilOrCancel(scheduler, late, source.Token());
        wrong += SleepUntilOrCancel(scheduler, late, source.Token());
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("SleepUntilOrCancel: a refused wait is reported once and does not sleep",
          "[cancel][report]") {
    test::Runner runner(test::Options(1));
    CancelSource source(runner.scheduler);
    CHECK(!SleepUntilOrCancel(runner.scheduler, Now() + std::chrono::hours(100), source.Token()));
    // The time has passed, so there is no wait to refuse.
    CHECK(SleepUntilOrCancel(runner.scheduler, Now(), source.Token()));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("Cancel: misuse is reported", "[cancel][report]") {
    test::Runner runner(test::Options(1));
    CancelSource source(runner.scheduler);
    source.Cancel();
    source.Cancel();
    CHECK(source.IsCancelled());
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);
    bool waited[3] = {true, true, true};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter open(1);
        waited[0] = WaitForCounterOrCancel(scheduler, &open, source.Token());
        waited[1] = WaitForCounterOrCancel(scheduler, nullptr, source.Token());
        CancelSource other(scheduler);
        waited[2] = WaitForCounterOrCancel(scheduler, nullptr, other.Token());
    }) == Status::Ok);
    for (bool each : waited) CHECK(!each);
    CHECK(runner.log.CountOf(ReportCode::NullCounter) == 2);
    CHECK(runner.log.Count() == 3);
}

TEST_CASE("LoopOptions::cancel: indices that no worker has taken are skipped",
          "[cancel][parallel_for][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint64_t> ran{0}, before{0};
        uint64_t all = 0, none = 1, reduced = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            CancelSource source(scheduler);
            LoopOptions options;
            options.cancel = source.Token();
            ParallelFor(
                scheduler, 0, 1000u, [&](uint32_t) { ++before; }, options);
            // Each worker sees the cancellation after its first chunk, which is one index.
            const auto body = [&](uint64_t first, uint64_t last) {
                ran += last - first;
                source.Cancel();
            };
            ParallelFor(scheduler, 0, uint64_t{1} << 24, body, options);
            all = ran;
            ParallelFor(scheduler, 0, 1000u, body, options);
            none = ran - all;
            reduced = ParallelReduce(
                scheduler, 0, uint64_t{1000}, uint64_t{17}, [](uint64_t i) { return i; },
                std::plus<>(), options);
        }) == Status::Ok);
        CHECK(before == 1000);
        CHECK(all >= 1);
        CHECK(all <= point.workers);
        CHECK(none == 0);
        CHECK(reduced == 17);
        CHECK(runner.log.Text() == "");
    }
}
