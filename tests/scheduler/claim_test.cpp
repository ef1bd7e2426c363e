#include "weft/task_scheduler.h"

#include "support/quiet_run.h"

#include <atomic>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE(
    "invariant 8: while the task time is unknown, one task is claimed and the rest can be stolen",
    "[claim]") {
    for (int round = 0; round < 20; ++round) {
        test::Runner runner(test::Options(2));
        constexpr uint32_t kCount = 64;
        std::atomic<uint32_t> ran[kCount + 1]{};
        std::atomic<bool> first{true}, met{true};
        test::Batch batch(kCount, [&](TaskScheduler &, uint32_t i) {
            // The first task that starts blocks its worker until the next task of the slice has
            // run.
            if (first.exchange(false) && i + 1 < kCount)
                met.store(test::SpinUntil([&] { return ran[i + 1].load() != 0; }));
            ran[i].fetch_add(1);
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) { test::AddAndWait(scheduler, batch); }) ==
              Status::Ok);
        REQUIRE(met.load());
    }
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("fault: exception that leaves a task. The task counts as finished and is reported",
          "[claim]") {
    for (uint32_t workers : {1u, 3u}) {
        test::Runner runner(test::Options(workers));
        std::atomic<uint32_t> ran{0};
        test::Batch batch(30, [&](TaskScheduler &, uint32_t i) {
            ran.fetch_add(1);
            if (i % 3 == 0) throw std::runtime_error("left");
        });
        uint32_t left = 1;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(30, batch.Tasks(), &counter, test::Named("thrower"));
            scheduler.WaitForCounter(&counter);
            left = counter.Value();
        }) == Status::Ok);
        CHECK(ran.load() == 30);
        CHECK(left == 0);
        CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 10);
        const test::LoggedReport report = runner.log.First(ReportCode::TaskThrew);
        CHECK(report.task == "thrower");
        CHECK(!report.fatal);
        CHECK(report.what == "an exception left the task: left; the task counts as finished");
    }
}

TEST_CASE("claim: the report of an exception has 200 bytes of what it says", "[claim]") {
    test::Runner runner(test::Options(1));
    const std::string said(1000, 'x');
    test::Batch batch(2, [&](TaskScheduler &, uint32_t i) {
        if (i == 0) throw std::runtime_error(said);
        throw 7;
    });
    CHECK(runner.Run(test::RunsAll(batch)) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 2);
    test::CheckNames(runner.log.Text(),
                     {" " + std::string(200, 'x') + "; the task counts as finished",
                      "an exception left the task: not a std::exception; the task"});
}
#endif

// Each task throws, waits inside its catch block, so that it may continue on any worker, and
// rethrows.
TEST_CASE("fault: exception state after migration. An exception is held across a wait",
          "[claim][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> right{0}, wrong{0};
        test::Batch nothing(3, [](TaskScheduler &, uint32_t) {});
        test::Batch batch(40, [&](TaskScheduler &scheduler, uint32_t i) {
            try {
                try {
                    throw i;
                } catch (uint32_t) {
                    test::AddAndWait(scheduler, nothing);
                    scheduler.Yield();
                    throw;
                }
            } catch (uint32_t caught) {
                (caught == i && std::uncaught_exceptions() == 0 ? right : wrong).fetch_add(1);
            }
            if (std::current_exception() != nullptr) wrong.fetch_add(1);
        });
        test::RunQuietly(point, test::RunsAll(batch));
        CHECK(right.load() == 40);
        CHECK(wrong.load() == 0);
    }
}
