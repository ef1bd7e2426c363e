#include "scheduler/state/reporting.h"
#include "platform/sanitizers.h"

#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/scheduler_run.h"
#include "support/spin.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#if defined(__GLIBC__)
#include "weft/algorithms/parallel_for.h"
#include "weft/data/exception_collector.h"
#include "weft/data/task_group.h"
#include "weft/graph/graph.h"

#include <pthread.h>
#endif

using namespace weft;
using namespace weft::internal;

TEST_CASE("reports: without onReport, a line on stderr has task, text and hint", "[reporting]") {
    const test::ChildResult result = test::RunInChild([] {
        SchedulerOptions options = test::Options(1);
        TaskScheduler scheduler(options);
        auto main = [](TaskScheduler *running) { running->WaitForCounter(nullptr); };
        const Task task = MakeTask(main);
        scheduler.Run(task.function, task.arg, {Priority::Normal, kAnyWorker, "the main task"});
    });
    CHECK(!result.Died());
    CHECK(result.output ==
          "weft: in task 'the main task': WaitForCounter: null counter. Give it a counter.\n");
}

// ThreadSanitizer has its own pthread_exit, which does not expect fibers. That of clang ends the
// process itself: it has no thread for the fiber.
#if defined(__GLIBC__) && !defined(WEFT_TSAN)

namespace {

void EndThread() { pthread_exit(nullptr); }

void CancelThread() {
    pthread_cancel(pthread_self());
    for (;;) pthread_testcancel();
}

// Runs `body` as the main task of a child process, and returns how that ended.
test::ChildResult RunMain(const std::function<void(TaskScheduler &)> &body) {
    return test::RunInChild([&] {
        SchedulerOptions options = test::Options(2);
        options.onReport = [](const Report &report, void *) {
            std::fprintf(stderr, "%s%s: %s | %s | %s\n", NameOf(report.code),
                         report.fatal ? " (fatal)" : "", report.what, report.hint,
                         report.task != nullptr ? report.task : "no task");
        };
        TaskScheduler scheduler(options);
        auto main = [&](TaskScheduler *running) { body(*running); };
        const Task task = MakeTask(main);
        scheduler.Run(task.function, task.arg, {});
    });
}

void CheckCure(const test::ChildResult &result) {
    INFO(result.output);
    CHECK(result.Died());
    CHECK(test::Names(result.output, "TaskThrew (fatal): pthread_exit was called in a task"));
    CHECK(test::Names(result.output, "Return from the function instead."));
    CHECK(!test::Names(result.output, "exception not rethrown"));
}

}  // namespace

TEST_CASE("report TaskThrew: pthread_exit or a cancellation in a task is fatal, with the cure",
          "[reporting]") {
    for (void (*const end)() : {EndThread, CancelThread}) {
        INFO((end == EndThread ? "pthread_exit" : "pthread_cancel"));
        const auto bad = [=](TaskScheduler *) { end(); };
        const auto run = [&](auto body) { CheckCure(RunMain(body)); };
        const test::ChildResult plain = RunMain([&](TaskScheduler &scheduler) {
            auto own = bad;
            Counter counter;
            TaskOptions named;
            named.name = "ends its thread";
            scheduler.AddTask(MakeTask(own), &counter, named);
            scheduler.WaitForCounter(&counter);
        });
        CheckCure(plain);
        CHECK(test::Names(plain.output, "| ends its thread"));
        run([&](TaskScheduler &scheduler) {  // on an attached thread
            auto own = bad;
            std::thread([&] {
                Counter counter;
                TaskOptions here;
                if (scheduler.AttachThread() == Status::Ok) here.worker = scheduler.CurrentWorker();
                scheduler.AddTask(MakeTask(own), &counter, here);
                scheduler.WaitForCounter(&counter);
            }).join();
        });
        run([&](TaskScheduler &scheduler) {
            auto own = bad;
            TaskGroup group(scheduler);
            TaskOptions ofGroup;
            ofGroup.taskGroup = &group;
            scheduler.AddTask(MakeTask(own), nullptr, ofGroup);
            group.Wait();
        });
        run([&](TaskScheduler &scheduler) { ParallelFor(scheduler, 0, 100, [&](int) { end(); }); });
        run([&](TaskScheduler &scheduler) {
            ExceptionCollector failures;
            auto wrapped = failures.Wrap(bad);
            Counter counter;
            scheduler.AddTask(MakeTask(wrapped), &counter);
            scheduler.WaitForCounter(&counter);
        });
        run([&](TaskScheduler &scheduler) {
            auto own = bad;
            Graph graph({});
            graph.AddNode("node", MakeTask(own));
            graph.Check();
            graph.Run(scheduler);
        });
    }
}

#endif

TEST_CASE("report BrokenInvariant: is fatal, and names the invariant", "[reporting]") {
    const test::ChildResult result = test::RunInChild([] {
        const auto scheduler = std::make_unique<Scheduler>();
        scheduler->options = test::Options(1);
        scheduler->options.onReport = [](const Report &report, void *) {
            std::fprintf(stderr, "code %d fatal %d\n", report.code == ReportCode::BrokenInvariant,
                         report.fatal);
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

TEST_CASE("report OutOfMemory: a queue that cannot grow is fatal", "[reporting]") {
    for (uint32_t count : {5000u, 4u}) {
        const test::ChildResult result = test::RunInChild([=] {
            SchedulerOptions options = test::Options(1);
            TaskScheduler scheduler(options);
            test::Batch batch(count, [](TaskScheduler &, uint32_t) {});
            auto main = [&](TaskScheduler *running) {
                const test::FailingAllocation failing(0);
                for (int i = 0; i < 2000; ++i) running->AddTasks(count, batch.Tasks());
            };
            const Task task = MakeTask(main);
            scheduler.Run(task.function, task.arg);
        });
        CHECK(result.Died());
        CHECK(test::Names(result.output, "weft: fatal: "));
        CHECK(test::Names(result.output, "no memory to queue tasks"));
        CHECK(test::Names(result.output, "more memory"));
    }
}

TEST_CASE("reports: mistakes of onReport on an external thread go to stderr", "[reporting]") {
    static TaskScheduler *s_scheduler = nullptr;
    static int s_reports = 0;
    const test::ChildResult result = test::RunInChild([] {
        SchedulerOptions options = test::Options(1);
        options.onReport = [](const Report &, void *) {
            if (++s_reports > 3) std::abort();  // onReport calls itself without end
            s_scheduler->AddTask({nullptr, nullptr});
            s_scheduler->Stop();
        };
        TaskScheduler scheduler(options);
        s_scheduler = &scheduler;
        scheduler.AddTask({nullptr, nullptr});  // the scheduler does not run
        scheduler.Stop();
        scheduler.WaitForCounter(nullptr);
        std::fprintf(stderr, "%d reports\n", s_reports);
    });
    CHECK(!result.Died());
    CHECK(
        test::Names(result.output, "weft: AddTasks was called while the scheduler does not run."));
    CHECK(test::Names(result.output, "weft: Stop was called without a Start before it."));
    CHECK(test::Names(result.output, "3 reports"));
}

TEST_CASE("reports: onReport may wait for another thread's call while the run ends",
          "[reporting]") {
    struct Shared {
        TaskScheduler *scheduler = nullptr;
        std::atomic<bool> reports{false};
    } shared;
    SchedulerOptions options = test::Options(1);
    options.user = &shared;
    options.onReport = [](const Report &report, void *user) {
        if (report.code != ReportCode::NullTask) return;
        Shared &its = *static_cast<Shared *>(user);
        its.reports.store(true);
        test::Linger(5000);  // meanwhile the main task returns
        std::thread([&] { its.scheduler->WorkerCount(); }).join();
        its.scheduler->AddTask({[](TaskScheduler *, void *) {}, nullptr});
    };
    TaskScheduler scheduler(options);
    shared.scheduler = &scheduler;
    std::thread wrong;
    auto main = [&](TaskScheduler *) {
        wrong = std::thread([&] { scheduler.AddTask({nullptr, nullptr}); });
        while (!shared.reports.load()) std::this_thread::yield();
    };
    CHECK(scheduler.Run(MakeTask(main).function, &main) == Status::Ok);
    wrong.join();
}

TEST_CASE("reports: each code has the name of its enumerator", "[reporting]") {
#define WEFT_NAMED(code) \
    { ReportCode::code, #code }
    const std::pair<ReportCode, std::string> names[] = {
        WEFT_NAMED(NullTask),
        WEFT_NAMED(NullCounter),
        WEFT_NAMED(BadOption),
        WEFT_NAMED(NotRunning),
        WEFT_NAMED(RunEnding),
        WEFT_NAMED(EndDelayed),
        WEFT_NAMED(NotAWorker),
        WEFT_NAMED(WrongThread),
        WEFT_NAMED(InHook),
        WEFT_NAMED(LeftAttached),
        WEFT_NAMED(Forked),
        WEFT_NAMED(StackOverflow),
        WEFT_NAMED(DestroyedInUse),
        WEFT_NAMED(NoWorkers),
        WEFT_NAMED(CounterUnderflow),
        WEFT_NAMED(CounterOverflow),
        WEFT_NAMED(WrongScheduler),
        WEFT_NAMED(TaskThrew),
        WEFT_NAMED(FloatingPointState),
        WEFT_NAMED(OutOfFibers),
        WEFT_NAMED(Stalled),
        WEFT_NAMED(OutOfMemory),
        WEFT_NAMED(MemoryInUse),
        WEFT_NAMED(MemoryLeaked),
        WEFT_NAMED(BrokenInvariant),
        WEFT_NAMED(NoProgress),
        WEFT_NAMED(WaitInScope),
        WEFT_NAMED(OneCpu),
    };
#undef WEFT_NAMED
    uint16_t next = 0;
    for (const auto &[code, name] : names) {
        if (next == 20) ++next;  // a code that weft 0.7 does not have any more
        CHECK(static_cast<uint16_t>(code) == next++);  // the table is complete
        CHECK(NameOf(code) == name);
    }
    CHECK(NameOf(static_cast<ReportCode>(next)) == std::string("unknown"));
}
