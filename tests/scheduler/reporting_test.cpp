#include "scheduler/reporting.h"

#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/scheduler_run.h"

#include <cstdio>
#include <memory>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("reports: without onReport one line on stderr says what, where and how to cure it", "[reporting]") {
    const test::ChildResult result = test::RunInChild([] {
        SchedulerOptions options = test::Options(1);
        TaskScheduler scheduler(options);
        auto main = [](TaskScheduler *running) { running->WaitForCounter(nullptr); };
        const Task task = TaskOf(main);
        scheduler.Run(task.function, task.arg, {Priority::Normal, StackClass::Large, kAnyWorker, "the main task"});
    });
    CHECK(!result.Died());
    CHECK(result.output == "weft: in task 'the main task': WaitForCounter: null counter. Give it a counter.\n");
}

TEST_CASE("report BrokenInvariant: is fatal, and names the invariant", "[reporting]") {
    const test::ChildResult result = test::RunInChild([] {
        const auto scheduler = std::make_unique<Scheduler>();
        scheduler->options = test::Options(1);
        scheduler->options.onReport = [](const Report &report, void *) {
            std::fprintf(stderr, "code %d fatal %d\n", report.code == ReportCode::BrokenInvariant, report.fatal);
            std::fprintf(stderr, "%s\n", report.what);
        };
        WEFT_INVARIANT(*scheduler, 1 + 1 == 2, "not this one");
        WEFT_INVARIANT(*scheduler, 1 + 1 == 3, "each submitted task runs exactly once");
    });
    CHECK(result.Died());
    CHECK(test::Names(result.output, "code 1 fatal 1"));
    CHECK(test::Names(result.output, "each submitted task runs exactly once"));
    CHECK(!test::Names(result.output, "not this one"));
}

TEST_CASE("report OutOfMemory: a queue that cannot grow is fatal, and says how much was asked for", "[reporting]") {
    for (uint32_t count : {5000u, 4u}) {
        const test::ChildResult result = test::RunInChild([=] {
            SchedulerOptions options = test::Options(1);
            TaskScheduler scheduler(options);
            test::Batch batch(count, [](TaskScheduler &, uint32_t) {});
            auto main = [&](TaskScheduler *running) {
                const test::FailingAllocation failing(0);
                for (int i = 0; i < 2000; ++i) running->AddTasks(count, batch.Tasks());
            };
            const Task task = TaskOf(main);
            scheduler.Run(task.function, task.arg);
        });
        CHECK(result.Died());
        CHECK(test::Names(result.output, "weft: fatal: "));
        CHECK(test::Names(result.output, "no memory to queue " + std::to_string(count) + " tasks"));
        CHECK(test::Names(result.output, "more memory"));
    }
}
