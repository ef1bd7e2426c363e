// Mistakes of tasks and of the host, and how weft reports them. Most of these tests end a child
// process.
#include "scheduler/state/reporting.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/stack_overflow.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "weft/data/cancellation.h"
#include "weft/describe_fault.h"
#include "weft/time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sstream>
#include <string>

#include <signal.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/socket.h>
#endif

#include <catch2/catch.hpp>

using namespace weft;

namespace {

void Overflows(TaskScheduler *, void *leaps) { test::OverflowStack(leaps != nullptr); }

SchedulerOptions WithFaults(uint32_t workers) {
    SchedulerOptions options = test::Options(workers, 20);
    options.reportStackOverflow = true;
    return options;
}

int s_leaps = 0;

// Runs the task "greedy", which overflows its stack.
void RunGreedy(const SchedulerOptions &options, bool leaps) {
    test::Batch parent(1, [=](TaskScheduler &scheduler, uint32_t) {
        const Task greedy{Overflows, leaps ? &s_leaps : nullptr};
        scheduler.AddTask(greedy, nullptr, test::Named("greedy"));
    });
    TaskScheduler scheduler(options);
    scheduler.Run(parent[0].function, parent[0].arg);
}

void Say(const char *text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

#if !defined(_WIN32)
void OnSignal(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = handler;
    sigaction(number, &action, nullptr);
}
#endif

}  // namespace

TEST_CASE("report StackOverflow: names the task, its fiber and the option, and the process dies",
          "[faults][overflow]") {
    for (uint32_t workers : {1u, 3u}) {
        for (bool leaps : {false, true}) {
            const test::ChildResult child = test::RunInChild([=] {
                signal(SIGSEGV, SIG_DFL);  // removes a sanitizer's handler
                RunGreedy(WithFaults(workers), leaps);
            });
            INFO(child.output << " workers " << workers << " leaps " << leaps);
            CHECK(child.signal == SIGSEGV);
            CHECK(test::Names(child.output, "weft: fatal: stack overflow of fiber "));
            CHECK(test::Names(child.output, " KiB), "));
            CHECK(test::Names(child.output, "task 'greedy'"));
            CHECK(test::Names(child.output, "SchedulerOptions::stackBytes"));
            CHECK(child.output.find("fatal") == child.output.rfind("fatal"));  // once
        }
    }
}

TEST_CASE("report StackOverflow: reaches onReport", "[faults][overflow]") {
    const test::ChildResult child = test::RunInChild([] {
        signal(SIGSEGV, SIG_DFL);
        SchedulerOptions options = WithFaults(2);
        options.onReport = [](const Report &report, void *) {
            Say(report.code == ReportCode::StackOverflow && report.fatal ? "code; " : "another; ");
            for (const char *text : {report.what, "; ", report.hint, "; ", report.task, "\n"})
                Say(text);
        };
        RunGreedy(options, false);
    });
    CHECK(child.signal == SIGSEGV);
    CHECK(test::Names(child.output, "code; stack overflow of fiber "));
    CHECK(test::Names(child.output, "SchedulerOptions::stackBytes"));
    CHECK(test::Names(child.output, "; greedy\n"));
}

#if !defined(_WIN32)  // for Windows: faults_test_windows.cpp

TEST_CASE("report StackOverflow: is one write, also if a text is long", "[faults][overflow]") {
    int ends[2];
    // a socket of this type keeps the bytes of each write apart
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    const int before = dup(STDERR_FILENO);
    const std::string tooLong(1000, 'x');
    dup2(ends[1], STDERR_FILENO);
    internal::ReportFault(SchedulerOptions(), "what", "hint", nullptr);
    internal::ReportFault(SchedulerOptions(), "what", tooLong.c_str(), nullptr);
    dup2(before, STDERR_FILENO);
    close(before);
    char line[600];
    ssize_t bytes = recv(ends[0], line, sizeof line, MSG_DONTWAIT);
    CHECK(std::string(line, static_cast<size_t>(std::max<ssize_t>(bytes, 0))) ==
          "weft: fatal: what. hint\n");
    bytes = recv(ends[0], line, sizeof line, MSG_DONTWAIT);
    CHECK(bytes == 511);
    CHECK((bytes > 0 && line[bytes - 1] == '\n'));
    CHECK(recv(ends[0], line, sizeof line, MSG_DONTWAIT) == -1);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("report StackOverflow: the lines of two workers do not mix", "[faults][overflow]") {
    for (int round = 0; round < 10; ++round) {
        const test::ChildResult child = test::RunInChild([] {
            signal(SIGSEGV, SIG_DFL);
            std::atomic<uint32_t> ready{0};
            test::Batch both(2, [&](TaskScheduler &, uint32_t) {
                ready.fetch_add(1);
                test::SpinUntil([&] { return ready.load() == 2; });
                test::OverflowStack();
            });
            auto main = [&](TaskScheduler *scheduler) {
                for (uint32_t worker : {0u, 1u})
                    scheduler->AddTask(both[worker], nullptr, test::PinnedTo(worker, "greedy"));
            };
            const Task task = MakeTask(main);
            TaskScheduler(WithFaults(2)).Run(task.function, task.arg);
        });
        INFO(child.output);
        CHECK(child.signal == SIGSEGV);
        std::istringstream lines(child.output);
        uint32_t count = 0;
        for (std::string line; std::getline(lines, line); ++count) {
            CHECK(line.find("weft: fatal: stack overflow of fiber ") == 0);
            CHECK(line.rfind("weft: fatal: ") == 0);
            CHECK(test::Names(line, "large arrays off the stack."));
        }
        CHECK((count == 1 || count == 2));
    }
}

TEST_CASE("stack overflow: a previous handler is called after the report", "[faults][overflow]") {
    const test::ChildResult child = test::RunInChild([] {
        OnSignal(SIGSEGV, [](int, siginfo_t *info, void *) {
            char text[256];
            Say(DescribeFault(info->si_addr, text, sizeof text) != 0 ? "host: " : "host: nothing");
            Say(text);
            _exit(7);
        });
        RunGreedy(WithFaults(2), false);
    });
    CHECK(child.code == 7);
    CHECK(test::Names(child.output, "weft: fatal: stack overflow"));
    CHECK(test::Names(child.output, "host: stack overflow of fiber "));
    CHECK(test::Names(child.output, "task 'greedy'"));
}

TEST_CASE(
    "stack overflow: without the option there is no report, but a host's handler can describe it",
    "[faults][overflow]") {
    const test::ChildResult child = test::RunInChild([] {
        OnSignal(SIGSEGV, [](int, siginfo_t *info, void *) {
            char text[256];
            DescribeFault(info->si_addr, text, sizeof text);
            Say(text);
            _exit(7);
        });
        // Threads of weft have signal stacks even without this option.
        TaskScheduler scheduler(test::Options(1, 20));
        scheduler.Start();
        scheduler.AddTask({Overflows, nullptr}, nullptr, test::Named("greedy"));
        scheduler.Stop();
    });
    CHECK(child.code == 7);
    CHECK(test::Names(child.output, "stack overflow of fiber "));
    CHECK(!test::Names(child.output, "weft: "));
}

TEST_CASE("stack overflow: other faults are not reported, and go to the previous handler",
          "[faults][overflow]") {
    for (bool before : {false, true}) {
        const test::ChildResult child = test::RunInChild([=] {
            signal(SIGSEGV, SIG_DFL);
            if (before) OnSignal(SIGSEGV, [](int, siginfo_t *, void *) { _exit(7); });
            TaskScheduler scheduler(WithFaults(1));
            scheduler.Run([](TaskScheduler *, void *) {
                volatile uintptr_t nowhere = 64;
                *reinterpret_cast<volatile char *>(nowhere) = 1;
            });
        });
        CHECK(child.code == (before ? 7 : 0));
        CHECK(child.signal == (before ? 0 : SIGSEGV));
        CHECK(child.output == "");
    }
}

#endif

TEST_CASE("stack overflow: detected in tasks of attached threads and in later runs",
          "[faults][overflow]") {
    for (bool attached : {false, true}) {
        const test::ChildResult child = test::RunInChild([=] {
            signal(SIGSEGV, SIG_DFL);
            TaskScheduler scheduler(WithFaults(attached ? 0 : 1));
            for (int round = 0; round < 2; ++round) {
                scheduler.Start();
                if (attached) scheduler.AttachThread();
                const Task task{round == 0 ? [](TaskScheduler *, void *) {} : Overflows, nullptr};
                scheduler.AddTasksAndWait(1, &task, test::Named("greedy"));
                if (attached) scheduler.DetachThread();
                scheduler.Stop();
            }
        });
        CHECK(child.signal == SIGSEGV);
        CHECK(test::Names(child.output, "weft: fatal: stack overflow of fiber "));
        CHECK(test::Names(child.output, "task 'greedy'"));
    }
}

#if !defined(_WIN32)
TEST_CASE("stack overflow: handlers and signal stacks are restored after the run",
          "[faults][overflow]") {
    struct sigaction before[2], after[2];
    stack_t stackBefore{}, stackAfter{};
    const int numbers[2] = {SIGSEGV, SIGBUS};
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        for (int i = 0; i < 2; ++i) sigaction(numbers[i], nullptr, &before[i]);
        sigaltstack(nullptr, &stackBefore);
        test::Runner first(WithFaults(2)), second(WithFaults(1));
        test::Marks marks(20);
        CHECK(test::WhileItRuns(first, life, [&](TaskScheduler &scheduler) {
                  scheduler.AttachThread();
                  scheduler.AddTasksAndWait(20, marks.Tasks());
                  scheduler.DetachThread();
                  second.Run([](TaskScheduler &) {});
              }) == Status::Ok);
        sigaltstack(nullptr, &stackAfter);
        CHECK(stackAfter.ss_flags == stackBefore.ss_flags);
        if ((stackBefore.ss_flags & SS_DISABLE) == 0) CHECK(stackAfter.ss_sp == stackBefore.ss_sp);
        for (int i = 0; i < 2; ++i) {
            sigaction(numbers[i], nullptr, &after[i]);
            CHECK(after[i].sa_sigaction == before[i].sa_sigaction);
            constexpr int kRestorer = 0x04000000;  // libc adds this flag in each sigaction
            CHECK((after[i].sa_flags & ~kRestorer) == (before[i].sa_flags & ~kRestorer));
        }
        CHECK(test::Faults(first.log) + second.log.Text() == "");
    }
}
#endif

namespace {

// Calls everything that waits. Each call must be reported once, and return what it returns after a
// report. Returns the number of wrong results.
constexpr uint32_t kWaysToWait = 13;
uint32_t WaitInEveryWay(TaskScheduler &scheduler, Counter &open) {
    bool ran = false;
    const Task marks{[](TaskScheduler *, void *arg) { *static_cast<bool *>(arg) = true; }, &ran};
    Counter *const one[1] = {&open};
    scheduler.WaitForCounter(&open);
    scheduler.WaitForAll(1, one);
    uint32_t wrong = scheduler.WaitForAny(1, one) != 1;
    scheduler.AddTasksAndWait(1, &marks);
    scheduler.WaitIdle();
    scheduler.Yield();
    wrong += scheduler.RunPinnedTasks() != 0;
    const Clock::time_point late = Now() + std::chrono::hours(100);
    CancelSource source(scheduler);
    wrong += WaitForCounterUntil(scheduler, &open, late);
    wrong += WaitForAnyUntil(scheduler, 1, one, late) != 1;
    wrong += WaitForCounterOrCancel(scheduler, &open, source.Token());
    wrong += SleepUntilOrCancel(scheduler, late, source.Token());
    wrong += SleepUntilOrCancel(scheduler, late, CancelToken());
    SleepUntil(scheduler, late);
    return wrong + ran;
}

}  // namespace

TEST_CASE("report InHook: a trace hook that waits; it has no effect", "[faults][hooks]") {
    test::TraceLog trace;
    test::Runner runner(trace.In(test::Options(2, 10, IdlePolicy::Sleep)));
    Counter open(1);
    std::atomic<uint32_t> wrong{0}, asked{0}, askedIn{0};  // askedIn: a bit for each kind
    std::atomic<bool> done[test::kTracedKinds]{};
    trace.also = [&](test::Traced kind, const TraceEvent &event) {
        if (event.worker == kAnyWorker) return;  // an external thread may sleep in a hook
        if (done[static_cast<int>(kind)].exchange(true)) return;
        wrong.fetch_add(WaitInEveryWay(runner.scheduler, open));
        asked.fetch_add(1);
        askedIn.fetch_or(1u << static_cast<int>(kind));
    };
    const auto askedInAllBut = [&](std::initializer_list<test::Traced> kinds) {
        uint32_t wanted = (1u << test::kTracedKinds) - 1;
        for (test::Traced kind : kinds) wanted &= ~(1u << static_cast<int>(kind));
        return (askedIn.load() & wanted) == wanted;
    };
    test::Marks marks(20), one(1);
    CHECK(test::WhileItRuns(runner, test::Life::Run, [&](TaskScheduler &scheduler) {
              test::Batch parent(1, [&](TaskScheduler &inside, uint32_t) {
                  Counter counter;
                  inside.AddTasks(20, marks.Tasks(), &counter);
                  inside.WaitForCounter(&counter);
              });
              scheduler.AddTasksAndWait(1, parent.Tasks());
              // Two kinds may be missing: the main task has not been resumed, and perhaps no worker
              // slept when the tasks came.
              CHECK(test::SpinUntil([&] {
                  return askedInAllBut({test::Traced::Resume, test::Traced::Unpark});
              }));
              CHECK(test::SpinUntil([&] {
                  scheduler.AddTasksAndWait(1, one.Tasks());
                  return askedInAllBut({test::Traced::Resume});
              }));
          }) == Status::Ok);
    CHECK(asked.load() == test::kTracedKinds);
    CHECK(wrong.load() == 0);
    CHECK(marks.Wrong() == 0);
    CHECK(open.Value() == 1);
    CHECK(runner.log.CountOf(ReportCode::InHook) == kWaysToWait * asked.load());
    const test::LoggedReport report = runner.log.First(ReportCode::InHook);
    CHECK(test::Names(report.what, "WaitForCounter was called by a hook"));
    CHECK(!report.fatal);
    CHECK(test::Inconsistencies(trace.Events()) == "");
}

// Mistakes of onReport itself go to stderr, because a report could cause the same mistake again. In
// onReport an external thread may wait.
TEST_CASE("report InHook: an onReport that waits after any report, on any thread",
          "[faults][hooks]") {
    for (int caller = 0; caller < 3; ++caller) {
        const test::ChildResult child = test::RunInChild([=] {
            static TaskScheduler *running;
            static std::atomic<uint32_t> reports;
            test::EndAfter(10);
            SchedulerOptions options = test::Options(1);
            options.onReport = [](const Report &report, void *) {
                if (reports.fetch_add(1) > 100) _exit(9);  // onReport calls itself without end
                if (report.code == ReportCode::InHook) _exit(8);
                const Task task{[](TaskScheduler *, void *) {}, nullptr};
                running->AddTasksAndWait(1, &task);
            };
            TaskScheduler scheduler(options);
            running = &scheduler;
            scheduler.Start();
            const Task mistake{[](TaskScheduler *self, void *) { self->WaitForCounter(nullptr); },
                               nullptr};
            if (caller == 0) scheduler.AddTask(mistake);
            if (caller == 1) scheduler.AttachThread();
            if (caller != 0) mistake.function(&scheduler, nullptr);
            if (caller == 1) scheduler.DetachThread();
            scheduler.Stop();
        });
        INFO("caller " << caller << ": a task, an attached thread, another thread");
        CHECK(child.signal == 0);
        CHECK(child.code == 0);
        CHECK(test::Names(child.output, "AddTasksAndWait was called by a hook") == (caller != 2));
    }
}

TEST_CASE("trace hooks: submissions at the end of the run are drained, or refused with a report",
          "[hooks]") {
    for (test::Traced kind : {test::Traced::Park, test::Traced::Unpark, test::Traced::FiberSwitch,
                              test::Traced::TaskEnd}) {
        for (uint32_t workers : {1u, 3u}) {
            const test::ChildResult child = test::RunInChild([=] {
                test::EndAfter(20);
                test::TraceLog trace;
                test::Runner runner(trace.In(test::Options(workers, 10, IdlePolicy::Sleep)));
                std::atomic<uint32_t> ran{0}, submitted{0};
                test::Batch extra(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
                trace.also = [&](test::Traced happened, const TraceEvent &) {
                    if (happened != kind || submitted.load() >= 20) return;
                    submitted.fetch_add(1);
                    runner.scheduler.AddTask(extra[0]);
                };
                for (int round = 0; round < 10; ++round) {
                    if (runner.Run([](TaskScheduler &) {}) != Status::Ok) _exit(1);
                }
                if (ran.load() + runner.log.CountOf(ReportCode::InHook) != submitted.load())
                    _exit(2);
            });
            INFO("event " << static_cast<int>(kind) << ", " << workers
                          << " workers: " << child.output);
            CHECK(child.signal == 0);
            CHECK(child.code == 0);
        }
    }
}

TEST_CASE("report InHook: a thread hook that waits; it has no effect", "[faults][hooks]") {
    const test::ChildResult child = test::RunInChild([] {
        static TaskScheduler *running;
        static std::atomic<bool> started, ran;
        test::EndAfter(10);
        SchedulerOptions options = test::Options(1);
        options.threads.onStart = [](uint32_t, void *) {
            if (!test::SpinUntil([] { return started.load(); })) _exit(2);
            const Task task{[](TaskScheduler *, void *) { ran.store(true); }, nullptr};
            running->AddTasksAndWait(1, &task);  // only this worker could run it
        };
        TaskScheduler scheduler(options);
        running = &scheduler;
        scheduler.Start();
        started.store(true);
        scheduler.Stop();
        _exit(ran.load() ? 3 : 0);
    });
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.code == 0);
    CHECK(test::Names(child.output, "AddTasksAndWait was called by a hook"));
}
