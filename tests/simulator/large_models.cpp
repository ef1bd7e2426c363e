// Models of Large tasks with too few Large fibers.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"
#include "weft/time.h"

#include <utility>
#include <vector>

namespace simulator {

namespace {

TaskOptions Large() {
    TaskOptions options;
    options.stack = StackClass::Large;
    return options;
}

// A Large stack has room for an inline task here.
SchedulerOptions LargeOptions(uint32_t workers, uint32_t largeFibers) {
    SchedulerOptions options = Options(workers, 6, largeFibers);
    options.largeStackBytes = 64 << 10;
    return options;
}

void Pauses(uint32_t most) {
    for (uint32_t i = Random(most); i > 0; --i) weft::env::Pause();
}

// There are more Large tasks than Large fibers, and some of the tasks wait. All must run.
void LargeTasks() {
    Counters counters;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto parent = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(leaf), counter);
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
        ++done;
    };
    const uint32_t workers = 1 + Random(3);
    RunMain(Options(workers, 2 + Random(3), 2), [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        const Task tasks[3] = {MakeTask(parent), MakeTask(parent), MakeTask(parent)};
        scheduler->AddTasks(3, tasks, counter, Large());
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
    });
    Check(done == 6, "a Large task was lost");
}

// Tasks that wait for Large tasks occupy all Large fibers. They must run the awaited tasks on their
// own fibers, whichever worker has taken these tasks.
void LargeWaits() {
    Counters counters;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto parent = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        const Task tasks[2] = {MakeTask(leaf), MakeTask(leaf)};
        if (Random(2) != 0) scheduler->AddTasksAndWait(2, tasks, Large());
        scheduler->AddTasks(Random(2) + 1, tasks, counter, Large());
        scheduler->AddTask(MakeTask(leaf), counter);
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
        ++done;
    };
    const uint32_t workers = 1 + Random(3), parents = 1 + Random(2);
    RunMain(
        LargeOptions(workers, parents),
        [&](TaskScheduler *scheduler) {
            Counter *counter = counters.New();
            const Task tasks[2] = {MakeTask(parent), MakeTask(parent)};
            scheduler->AddTasks(parents, tasks, counter, Large());
            scheduler->WaitForCounter(counter);
            Counters::Kill(counter);
        },
        StackClass::Small);
    Check(done >= 3 * parents, "a Large task was lost");
}

// Like LargeWaits, with a deadline that is an hour away. No wait may last until the deadline.
void LargeTimed() {
    Counters counters;
    uint32_t done = 0, inTime = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto parent = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(leaf), counter, Large());
        inTime += WaitForCounterFor(*scheduler, counter, std::chrono::hours(1));
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
    };
    const uint32_t parents = 1 + Random(2);
    RunMain(
        LargeOptions(2 + Random(2), parents),
        [&](TaskScheduler *scheduler) {
            Counter counter;
            for (uint32_t i = 0; i < parents; ++i)
                scheduler->AddTask(MakeTask(parent), &counter, Large());
            scheduler->WaitForCounter(&counter);
        },
        StackClass::Small);
    Check(done == parents, "a Large task was lost");
    Check(inTime == parents, "a wait ended only at its deadline");
}

// The only Large fiber waits for a Large Low task. This task must run on top of the waiter, and
// only on a worker that may run Low tasks, also after a yield.
void LargeLimited() {
    uint32_t done = 0;
    SchedulerOptions options = LargeOptions(2, 1);
    test::LimitLow(options, 1);
    TaskOptions low = Large();
    low.priority = Priority::Low;
    auto leaf = [&](TaskScheduler *scheduler) {
        Check(scheduler->CurrentWorker() == 0, "a Low task began outside of lowGroups");
        scheduler->Yield();
        Check(scheduler->CurrentWorker() == 0, "a Low task continued outside of lowGroups");
        ++done;
    };
    RunMain(
        options,
        [&](TaskScheduler *scheduler) {
            Counter counter, waiters;
            auto waits = [&](TaskScheduler *waiter) { waiter->WaitForCounter(&counter); };
            scheduler->AddTask(MakeTask(leaf), &counter, low);
            scheduler->AddTask(MakeTask(waits), &waiters, Large());
            scheduler->WaitForCounter(&waiters);
            scheduler->WaitForCounter(&counter);
        },
        StackClass::Small);
    Check(done == 1, "a Large task was lost");
}

// No Large fiber is free for a Large task, and a rescuer looks for a waiter of its counter.
// Meanwhile another thread sorts the counter's list, for a waiter for a value above zero, or
// because a WaitForAny ends. The task must not be lost.
void LargeSorted(bool any) {
    Counters counters;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    const SchedulerOptions options = LargeOptions(2 + Random(2), 1);
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New(), *other = counters.New(), *eager = counters.New();
        Counter *const both[2] = {counter, other};
        auto waiter = [&](TaskScheduler *running) {
            if (any) return static_cast<void>(running->WaitForAny(2, both));
            running->WaitForCounter(counter, 2);
        };
        scheduler->AddTask(MakeTask(leaf), counter, Large());
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(MakeTask(leaf), any ? other : counter);
        scheduler->AddTask(MakeTask(waiter), eager);
        scheduler->WaitForCounter(counter);
        scheduler->WaitForCounter(eager);
        scheduler->WaitForCounter(other);
        Counters::Kill(counter);
    });
    Check(done == 3, "a Large task was lost");
}

SchedulerOptions LateOptions(bool low) {
    SchedulerOptions options = LargeOptions(2, 2);
    test::LimitLow(options, low);
    options.onReport = OnlyThese<ReportCode::Stalled, ReportCode::OutOfLargeFibers>;
    return options;
}

// Options of tasks that exclude each other: Low tasks that only one worker may run, or tasks that
// are pinned to worker 0.
TaskOptions Late(bool low, StackClass stack) {
    return {low ? Priority::Low : Priority::Normal, stack, low ? kAnyWorker : 0};
}

// A task waits for a Large task. The waiter cannot resume before that task has run, because its
// worker (or the only worker for Low tasks) runs a task that polls for it. Then another Large fiber
// becomes free. The Large task must run on it.
void LargeWaiterStays(bool low) {
    TaskScheduler scheduler(LateOptions(low));
    Counter gate(1), began(1), counter, others;
    weft::env::Atomic<bool> ran{false};
    auto leaf = [&](TaskScheduler *) { ran.store(true, std::memory_order_release); };
    auto holder = [&](TaskScheduler *running) {
        running->DecrementCounter(&began);
        running->WaitForCounter(&gate);
    };
    auto polls = [&](TaskScheduler *) {
        while (!ran.load(std::memory_order_acquire)) weft::env::Pause();
    };
    const TaskOptions waits = Late(low, StackClass::Large), polling = Late(low, StackClass::Small);
    HostThread host([&] {
        Pauses(600);
        scheduler.DecrementCounter(&gate);
    });
    auto waiter = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(polls), &others, polling);
        running->AddTask(MakeTask(leaf), &counter, Large());
        Pauses(200);
        running->WaitForCounter(&counter);
    };
    auto main = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(holder), &others, Large());
        running->WaitForCounter(&began);
        host.Start();
        running->AddTask(MakeTask(waiter), &others, waits);
        running->WaitForCounter(&others);
    };
    const Task task = MakeTask(main);
    Check(scheduler.Run(task.function, task.arg, TaskOptions()) == Status::Ok, "Run failed");
    host.Join();
}

// Two tasks wait for the same Large task, and no Large fiber is free. The first waiter cannot
// resume before the Large task has run, as in LargeWaiterStays. The second waiter must run it.
void LargeTwoWaiters(bool low) {
    TaskScheduler scheduler(LateOptions(low));
    Counter began(2), counter(1), others;
    weft::env::Atomic<bool> ran{false};
    auto leaf = [&](TaskScheduler *) { ran.store(true, std::memory_order_release); };
    auto waiter = [&](TaskScheduler *running) {
        running->DecrementCounter(&began);
        running->WaitForCounter(&counter);
    };
    auto polls = [&](TaskScheduler *) {
        while (!ran.load(std::memory_order_acquire)) weft::env::Pause();
    };
    const TaskOptions late = Late(low, StackClass::Large), polling = Late(low, StackClass::Small);
    auto main = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(waiter), &others, late);
        running->AddTask(MakeTask(waiter), &others, Large());
        running->WaitForCounter(&began);
        Pauses(300);
        running->AddTask(MakeTask(polls), &others, polling);
        running->AddTask(MakeTask(leaf), &counter, Large());
        running->DecrementCounter(&counter);
        running->WaitForCounter(&others);
    };
    const Task task = MakeTask(main);
    Check(scheduler.Run(task.function, task.arg, TaskOptions()) == Status::Ok, "Run failed");
}

}  // namespace

std::vector<Model> LargeModels() {
    return {
        {"large", "more Large tasks than Large fibers", LargeTasks},
        {"large_waits", "tasks that wait for Large tasks hold all Large fibers", LargeWaits},
        {"large_timed", "the same with deadlines", LargeTimed},
        {"large_limited",
         "the waiter of a Large Low task runs it, but only on the worker for Low tasks",
         LargeLimited},
        {"large_sorted", "a Large task is set aside while its waiters are sorted",
         [] { LargeSorted(false); }},
        {"large_sorted_any", "the same, while a WaitForAny ends", [] { LargeSorted(true); }},
        {"large_pinned", "a waiter for a Large task is pinned to a worker that polls for that task",
         [] { LargeWaiterStays(false); }},
        {"large_two", "two waiters for a Large task; one is pinned to a worker that polls for it",
         [] { LargeTwoWaiters(false); }},
        {"large_two_low",
         "two waiters for a Large task; one is Low, and the worker for Low tasks polls for it",
         [] { LargeTwoWaiters(true); }},
        {"large_low", "a Low waiter for a Large task; the worker for Low tasks polls for that task",
         [] { LargeWaiterStays(true); }},
    };
}

}  // namespace simulator
