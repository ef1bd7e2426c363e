#include "platform/floating_point.h"

#include "support/control_words.h"
#include "support/scheduler_run.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

#if defined(WEFT_TEST_CONTROL_WORDS)

TEST_CASE("floating point: control words are set and read without the status flags", "[floating_point]") {
    const uint64_t before = FloatingPointControl();
    CHECK((before & 0x3f) == 0);
    SetFloatingPointControl(before | test::kFlush);
    volatile double zero = 0;
    volatile double inexact = 1.0 / (3.0 + zero);  // raises a flag
    const uint64_t set = FloatingPointControl();
    SetFloatingPointControl(before);
    CHECK(inexact > 0);
    CHECK(set == (before | test::kFlush));
    CHECK(FloatingPointControl() == before);
}

TEST_CASE("tasks start with the control words of who called Run, on every worker", "[floating_point]") {
    const uint64_t before = FloatingPointControl();
    const uint64_t flush = before | test::kFlush;
    test::Runner runner(test::Options(3));
    std::atomic<uint32_t> wrong{0}, ran{0};
    test::Batch batch(200, [&](TaskScheduler &scheduler, uint32_t i) {
        if (FloatingPointControl() != flush) wrong.fetch_add(1);
        if (i % 10 == 0) scheduler.Yield();
        if (FloatingPointControl() != flush) wrong.fetch_add(1);
        ran.fetch_add(1);
    });
    SetFloatingPointControl(flush);
    const Status status = runner.Run([&](TaskScheduler &scheduler) { scheduler.AddTasksAndWait(200, batch.Tasks()); });
    const uint64_t after = FloatingPointControl();
    SetFloatingPointControl(before);
    CHECK(status == Status::Ok);
    CHECK(after == flush);
    CHECK(ran.load() == 200);
    CHECK(wrong.load() == 0);
}

#if defined(WEFT_DEBUG)
TEST_CASE("report FloatingPointState: names the task that leaves with other control words, and restores them",
          "[floating_point]") {
    test::Runner runner(test::Options(1));
    const uint64_t before = FloatingPointControl();
    std::atomic<uint32_t> wrong{0};
    test::Batch batch(2, [&](TaskScheduler &, uint32_t i) {
        if (FloatingPointControl() != before) wrong.fetch_add(1);
        if (i == 1) SetFloatingPointControl(before | test::kToZero);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(1, batch.Tasks() + 1, test::Named("rounder"));
        scheduler.AddTasksAndWait(1, batch.Tasks());
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    CHECK(runner.log.Count() == 1);
    CHECK(runner.log.First(ReportCode::FloatingPointState).task == "rounder");
    CHECK(test::Names(runner.log.First(ReportCode::FloatingPointState).cure, "Restore rounding"));
}
#endif

#endif
