#include "weft/task_scheduler.h"

#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WaitForAny returns the counter that is zero, and leaves no waiter on the others",
          "[wait_any][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counters[5] = {Counter(1), Counter(2), Counter(1), Counter(3), Counter(1)};
            Counter *const all[5] = {&counters[0], &counters[1], &counters[2], &counters[3],
                                     &counters[4]};
            for (uint32_t round = 0; round < 20; ++round) {
                const uint32_t next = round % 5;
                std::atomic<uint32_t> written{0};
                test::Batch opener(1, [&](TaskScheduler &running, uint32_t) {
                    written.store(round + 1, std::memory_order_relaxed);
                    running.DecrementCounter(all[next], all[next]->Value());
                });
                Counter done;
                scheduler.AddTask(opener[0], &done);
                if (scheduler.WaitForAny(5, all) != next) ++wrong;
                if (written.load(std::memory_order_relaxed) != round + 1) ++wrong;
                scheduler.WaitForCounter(&done);
                scheduler.IncrementCounter(all[next], 1 + round % 3);
            }
            for (Counter *counter : all) {
                const uint32_t left = counter->Value();
                if (left == 0) ++wrong;
                scheduler.DecrementCounter(counter, left);
            }
            if (scheduler.WaitForAny(5, all) != 0) ++wrong;
            scheduler.WaitForAll(5, all);
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("WaitForAny gives its records back", "[wait_any]") {
    uint32_t wrong = 0;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter zero, busy[3] = {Counter(1), Counter(1), Counter(1)};
        Counter *const all[4] = {&busy[0], &busy[1], &busy[2], &zero};
        const test::FailingAllocation failing(0);  // there are 64 wait records
        for (uint32_t round = 0; round < 500; ++round) {
            if (scheduler.WaitForAny(4, all) != 3) ++wrong;
        }
        for (Counter &counter : busy) scheduler.DecrementCounter(&counter);
    });
    CHECK(wrong == 0);
}

TEST_CASE("WaitForAny and WaitForAll by an external thread", "[wait_any]") {
    for (uint32_t workers : {1u, 3u}) {
        test::Started runner(test::Options(workers));
        Counter counters[2] = {Counter(1), Counter(1)};
        Counter *const both[2] = {&counters[0], &counters[1]};
        uint32_t first = 0;
        std::atomic<bool> any{false}, all{false};
        std::thread waiter([&] {
            first = runner.scheduler.WaitForAny(2, both);
            any.store(true);
            runner.scheduler.WaitForAll(2, both);
            all.store(true);
        });
        test::Linger();
        const bool early = any.load();
        runner.scheduler.DecrementCounter(both[1]);
        const bool woke = test::SpinUntil([&] { return any.load(); });
        const bool allEarly = all.load();
        runner.scheduler.DecrementCounter(both[0]);
        waiter.join();
        runner.scheduler.Stop();
        CHECK(!early);
        CHECK(woke);
        CHECK(first == 1);
        CHECK(!allEarly);
        CHECK(runner.log.CountOf(ReportCode::Stalled) == runner.log.Count());
    }
}

TEST_CASE("WaitForAny refuses null counters, no counters, and too many", "[wait_any]") {
    test::Runner runner(test::Options(1));
    Counter counter;
    Counter *const withNull[2] = {&counter, nullptr};
    uint32_t answers[3] = {};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        answers[0] = scheduler.WaitForAny(2, withNull);
        answers[1] = scheduler.WaitForAny(0, nullptr);
        scheduler.WaitForAll(2, withNull);
        const std::vector<Counter *> many(4097, &counter);
        answers[2] = scheduler.WaitForAny(4097, many.data());
    }) == Status::Ok);
    CHECK(answers[0] == 2);
    CHECK(answers[1] == 0);
    CHECK(answers[2] == 4097);
    CHECK(runner.log.CountOf(ReportCode::NullCounter) == 2);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
}

TEST_CASE("PollCounter: a loop with it ends, also with one worker", "[wait_any][one_worker]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0, ranBefore = 0;
    test::Batch batch(1, [&](TaskScheduler &, uint32_t) { ++ran; });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTask(batch[0], &counter);
        while (!scheduler.PollCounter(&counter)) {
        }
        ranBefore = ran;
    }) == Status::Ok);
    CHECK(ranBefore == 1);
}

TEST_CASE("PollCounter sees finished tasks of the caller's own claim", "[wait_any][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> polledOut{0};
        Counter counter;
        // The last task polls until only itself is left. Some of the other tasks are in its own
        // claim.
        test::Batch batch(64, [&](TaskScheduler &scheduler, uint32_t i) {
            if (i != 63) return;
            if (test::YieldUntil(scheduler, [&] { return scheduler.PollCounter(&counter, 1); }))
                polledOut.fetch_add(1);
        });
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasks(64, batch.Tasks(), &counter);
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(polledOut.load() == 1);
    }
}
