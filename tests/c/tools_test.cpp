// The calls of weft.h that concern the whole scheduler.
#include "c/c_support.h"
#include "c/convert.h"
#include "scheduler/state/entry_gate.h"
#include "support/trace_log.h"
#include "weft/inspect.h"

#include <cstddef>
#include <cstring>

#include <catch2/catch.hpp>

TEST_CASE("C: calls for the whole scheduler reach it", "[c]") {
    test::TraceLog trace;
    weft::SchedulerOptions options = test::Options(2);
    trace.AttachTo(options, ~0u);
    test::Runner runner(options);
    weft_scheduler *const scheduler = &runner.scheduler;
    weft_counter counter;
    weft_counter_init(&counter, 1);
    std::atomic<uint32_t> count{0};
    REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
    weft_mark_frame(scheduler, 41);
    weft_name_counter(scheduler, &counter, "named");
    CHECK(trace.Events(test::Traced::Frame).at(0).event.count == 41);
    CHECK(trace.Events(test::Traced::CounterName).at(0).event.counter ==
          weft::internal::ToCounter(&counter));

    weft_set_active_workers(scheduler, 3);
    CHECK(runner.log.CountOf(weft::ReportCode::BadOption) == 1);
    weft_set_active_workers(scheduler, 1);
    weft_set_low_groups(scheduler, 2);
    CHECK(runner.log.CountOf(weft::ReportCode::BadOption) == 2);
    weft_set_low_groups(scheduler, 1);

    const std::atomic<uint32_t> &outside = weft::internal::EntryGate::StateOf(*scheduler).outside;
    weft_begin_external_work(scheduler, "work");
    CHECK(outside.load() == 1);
    weft_end_external_work(scheduler, "work");
    CHECK(outside.load() == 0);

    for (int i = 0; i < 3; ++i) weft_add_task(scheduler, test::Count, &count, nullptr, nullptr);
    weft_wait_idle(scheduler);
    weft_statistics statistics;
    weft_get_statistics(scheduler, &statistics, sizeof statistics);
    const weft::Statistics expected = weft::GetStatistics(runner.scheduler);
    CHECK(statistics.finished == 3);
    CHECK(statistics.submitted == 0);
    CHECK(statistics.submittedOutside == 3);
    CHECK(statistics.pendingTasks == 0);
    CHECK(statistics.workers == 2);
    CHECK(statistics.attachedThreads == 0);
    CHECK(statistics.smallFibers == options.smallFibers);
    CHECK(statistics.largeFibers == options.largeFibers);
    CHECK(statistics.smallFibersTouched == expected.smallFibersTouched);
    CHECK(statistics.largeFibersInUse == expected.largeFibersInUse);
    CHECK(statistics.largeFibersTouched == expected.largeFibersTouched);
    weft_stop(scheduler);
    CHECK(runner.log.Count() == 2);
}

TEST_CASE("C: statistics have only as many bytes as the program's struct", "[c]") {
    test::AttachedOfC thread;
    weft_statistics statistics;
    std::memset(&statistics, 0x55, sizeof statistics);
    weft_get_statistics(thread.scheduler, &statistics, offsetof(weft_statistics, inlineRuns));
    CHECK(statistics.submitted == 0);
    CHECK(statistics.inlineRuns == 0x5555555555555555);
}
