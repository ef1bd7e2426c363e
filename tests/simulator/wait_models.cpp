// Models of restricted waits (Meanwhile), in which a thread runs only some tasks or none, and of
// child tasks.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/external_work.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>

namespace simulator {

namespace {

constexpr uint32_t kNowhere = ~0u;

// A task waits with Meanwhile::Nothing. No task may run on its worker until the wait is over, and
// the wait must end on this worker.
void NothingRuns() {
    Counters counters;
    uint32_t done = 0, waitingOn = kNowhere, pinnedRan = 0;
    const auto check = [&](TaskScheduler *scheduler) {
        Check(scheduler->CurrentWorker() != waitingOn, "a task runs on a thread that blocks");
    };
    auto leaf = [&](TaskScheduler *scheduler) {
        check(scheduler);
        if (Random(2) != 0) scheduler->Yield();
        check(scheduler);
        ++done;
    };
    auto parent = [&](TaskScheduler *scheduler) {
        check(scheduler);
        AddAndWait(scheduler, leaf, leaf);
        check(scheduler);
        ++done;
    };
    auto pinned = [&](TaskScheduler *scheduler) {
        check(scheduler);
        ++pinnedRan;
    };
    RunMain(Options(2 + Random(2), 8), [&](TaskScheduler *scheduler) {
        for (uint32_t round = 1; round <= 2; ++round) {
            Counter *counter = counters.New(), *ofPinned = counters.New();
            const TaskOptions any = Of(AnyPriority());
            scheduler->AddTask(MakeTask(pinned), ofPinned, PinnedTo(scheduler->CurrentWorker()));
            scheduler->AddTask(MakeTask(parent), counter, any);
            scheduler->AddTask(MakeTask(leaf), counter, any);
            const uint32_t worker = waitingOn = scheduler->CurrentWorker();
            scheduler->WaitForCounter(counter, Meanwhile::Nothing);
            waitingOn = kNowhere;
            Check(scheduler->CurrentWorker() == worker,
                  "a wait that blocks its thread ended on another thread");
            Counters::Kill(counter);
            Check(done == 4 * round, "a wait ended too early");
            WaitAndKill(scheduler, ofPinned);
        }
    });
    Check(done == 8 && pinnedRan == 2, "a task was lost");
}

// An attached thread blocks while its own queues and its claim hold tasks. Others must run these
// tasks. Then the thread detaches.
void NothingAttached() {
    Counters counters;
    uint32_t done = 0;
    StartedScheduler scheduler(Options(1 + Random(2), 7));
    auto leaf = [&](TaskScheduler *) { ++done; };
    RunningThread attached([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        const uint32_t own = scheduler.CurrentWorker();
        uint32_t onOwn = 0;
        auto look = [&](TaskScheduler *running) {
            if (running->CurrentWorker() == own) ++onOwn;
            ++done;
        };
        Counter *counter = counters.New();
        AddBatch(&scheduler, 3, look, counter);
        scheduler.WaitForCounter(counter, Meanwhile::Nothing);
        Counters::Kill(counter);
        Check(onOwn == 0, "a task ran on a thread that blocks");
        scheduler.AddTask(MakeTask(leaf));
        scheduler.DetachThread();
    });
    if (Random(2) != 0) scheduler.WaitIdle();
    attached.Join();
    scheduler.Stop();
    Check(done == 4, "a task was lost");
}

// Each of two tasks waits in its way until the other one has lowered its counter. Both must resume,
// although their workers run only some other tasks, or none.
void WaitersMeet(Meanwhile first, Meanwhile second, uint32_t fibers, uint32_t others) {
    Counters counters;
    Counter *const lowered[2] = {counters.New(1), counters.New(1)};
    uint32_t done = 0;
    IndexedTasks waiters(2, [&](TaskScheduler *scheduler, uint32_t index) {
        scheduler->DecrementCounter(lowered[1 - index]);
        scheduler->WaitForCounter(lowered[index], index == 0 ? first : second);
        ++done;
    });
    auto leaf = [&](TaskScheduler *) { ++done; };
    RunCounted(Options(3, fibers), [&](TaskScheduler *scheduler, Counter *counter) {
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(waiters[i], counter);
        for (uint32_t i = 0; i < others; ++i)
            scheduler->AddTask(MakeTask(leaf), counter, Of(AnyPriority()));
    });
    Check(done == 2 + others, "a task was lost");
}

// A wait with HighOnly or NormalOrHigher among tasks of all priorities. Its worker must not begin a
// lower task, and the wait must end on this worker.
void HigherOnly() {
    Counters counters;
    const uint32_t workers = 2 + Random(2);
    const bool high = Random(2) != 0;
    const Priority lowest = high ? Priority::High : Priority::Normal;
    uint32_t restricted = kNowhere, expected = 0, done = 0;
    const auto begin = [&](TaskScheduler *scheduler, Priority priority) {
        Check(scheduler->CurrentWorker() != restricted || priority <= lowest,
              "a restricted worker begins a lower task");
        ++done;
    };
    auto child = [&](TaskScheduler *scheduler) { begin(scheduler, Priority::High); };
    Priority priorities[6] = {};
    bool forks[6] = {};
    IndexedTasks tasks(6, [&](TaskScheduler *scheduler, uint32_t index) {
        begin(scheduler, priorities[index]);
        if (forks[index]) RunTask(scheduler, child, Of(Priority::High));
    });
    RunMain(Options(workers, 3 + Random(6)), [&](TaskScheduler *scheduler) {
        Counter *own = counters.New(), *rest = counters.New();
        for (uint32_t i = 0; i < 6; ++i) {
            const Priority priority = AnyPriority();
            const bool isOwn = i < 3;
            // Tasks of the awaited counter count with the waiter's priority, which is Normal.
            priorities[i] = isOwn ? std::min(priority, Priority::Normal) : priority;
            forks[i] = Random(2) == 0;
            expected += forks[i] ? 2 : 1;
            scheduler->AddTask(tasks[i], isOwn ? own : rest, Of(priority));
        }
        const uint32_t worker = restricted = scheduler->CurrentWorker();
        scheduler->WaitForCounter(own, high ? Meanwhile::HighOnly : Meanwhile::NormalOrHigher);
        restricted = kNowhere;
        Check(scheduler->CurrentWorker() == worker, "a restricted wait ended on another worker");
        Counters::Kill(own);
        WaitAndKill(scheduler, rest);
    });
    Check(done == expected, "a task was lost");
}

// All other workers are blocked until a High task has run. The restricted worker must be woken for
// it and run it.
void HigherWakes() {
    Counters counters;
    Counter *const event = counters.New(1), *const go = counters.New(1);
    Cell hasRun;
    auto high = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(go);
        hasRun.Set(1);
        scheduler->DecrementCounter(event);
    };
    auto submit = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(high), nullptr, Of(Priority::High));
        scheduler->DecrementCounter(go);
    };
    const bool fromOutside = Random(2) != 0;
    auto hold = [&](TaskScheduler *scheduler) {
        if (!fromOutside) submit(scheduler);
        while (hasRun.Get() == 0) weft::env::Pause();
    };
    TaskScheduler scheduler(Options(2, 7));
    HostThread outside([&] { submit(&scheduler); });
    RunMain(scheduler, [&](TaskScheduler *running) {
        Counter *counter = counters.New();
        running->AddTask(MakeTask(hold), counter);
        if (fromOutside) outside.Start();
        running->WaitForCounter(event, Meanwhile::HighOnly);
        if (fromOutside) outside.Join();
        WaitAndKill(running, counter);
    });
}

// Like HigherWakes, but the restricted worker has no fiber. Another worker frees one, and then
// continues a task that blocks it. The restricted worker must be woken for the freed fiber.
void HigherGetsStack() {
    Counters counters;
    Counter *const event = counters.New(1), *const go = counters.New(1);
    Cell hasRun;
    auto high = [&](TaskScheduler *scheduler) {
        hasRun.Set(1);
        scheduler->DecrementCounter(event);
    };
    auto hold = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(go);
        while (hasRun.Get() == 0) weft::env::Pause();
    };
    auto submit = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(high), nullptr, Of(Priority::High));
        scheduler->DecrementCounter(go);
    };
    RunCounted(Options(2, 3), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(submit), counter);
        scheduler->AddTask(MakeTask(hold), counter, Of(Priority::High));
        scheduler->WaitForCounter(event, Meanwhile::HighOnly);
    });
}

// One fiber waits, and another one runs the task that submits the task for which the first one
// waits. The restricted worker finds both. It must not continue the first fiber with the task,
// because its wait allows only High tasks.
void HigherHandsNothing() {
    Counter waits(1), comes(1), event(1);
    uint32_t restricted = kNowhere;
    const auto check = [&](TaskScheduler *scheduler) {
        Check(scheduler->CurrentWorker() != restricted,
              "a wait with HighOnly ran a task of normal priority");
    };
    auto waiter = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(&waits);
        scheduler->WaitForCounter(&comes);
        check(scheduler);
        scheduler->DecrementCounter(&event);
    };
    auto submits = [&](TaskScheduler *scheduler) {
        while (restricted == kNowhere) weft::env::Pause();
        scheduler->AddTask(MakeTask(check), &comes);
        scheduler->DecrementCounter(&comes);
        Dawdle(300);
    };
    RunMain(Options(2, 3), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(waiter));
        scheduler->WaitForCounter(&waits);
        scheduler->AddTask(MakeTask(submits));
        restricted = scheduler->CurrentWorker();
        scheduler->WaitForCounter(&event, Meanwhile::HighOnly);
        restricted = kNowhere;
    });
}

// A restricted worker has no fiber. It is woken for a task of the other worker, which it must not
// begin. But it takes the task for a moment, to check whether a fiber waits for it (Rescue). Just
// then the other worker ends what it runs, finds nothing, frees its fiber and goes to sleep. It
// must be woken for the task. The external work keeps weft from watching for stalls: the timer for
// that would wake the other worker, too.
void HigherRescueHolds() {
    Counters counters;
    Counter *const event = counters.New(1), *const others = counters.New();
    bool hasBegun = false;
    auto leaf = [&](TaskScheduler *scheduler) { scheduler->DecrementCounter(event); };
    auto submits = [&](TaskScheduler *scheduler) {
        hasBegun = true;
        weft::env::Pause();  // the other worker falls asleep
        scheduler->AddTask(MakeTask(leaf), others);
        weft::env::Pause();  // the other worker takes the task
    };
    SchedulerOptions options = Options(2, 2);
    options.idle = IdlePolicy::Sleep;
    RunMain(options, [&](TaskScheduler *scheduler) {
        const ExternalWork outside(*scheduler);
        scheduler->AddTask(MakeTask(submits), others);
        while (!hasBegun) weft::env::Pause();
        scheduler->WaitForCounter(event, Meanwhile::HighOnly);
        WaitAndKill(scheduler, others);
    });
}

// Three workers wait with a restriction, and one free fiber is left for them. Until a deadline
// there is nothing to do. They must sleep, and not wake each other for the fiber again and again.
// With OwnTasks each worker looks for work every 2 ms, and wakes at most the two others.
void RestrictedRest() {
    Counters counters;
    Counter *const event = counters.New(1), *const go = counters.New();
    const Meanwhile meanwhile = Random(2) != 0 ? Meanwhile::HighOnly : Meanwhile::OwnTasks;
    uint32_t done = 0, parks = 0;
    auto waits = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(event, meanwhile);
        ++done;
    };
    CountNanoseconds();
    SchedulerOptions options = Options(3, 4);
    options.idle = IdlePolicy::Sleep;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Park);
    options.trace.user = &parks;
    options.trace.event = [](const TraceEvent &, void *user) { ++*static_cast<uint32_t *>(user); };
    RunMain(options, [&](TaskScheduler *scheduler) {
        AddEach(scheduler, go, waits, waits);
        Compute(1000);  // by now both tasks wait
        parks = 0;
        Check(!WaitForCounterFor(*scheduler, event, std::chrono::milliseconds(50), meanwhile),
              "a wait ended although its counter was not lowered");
        Check(parks < 400, "workers wake each other in vain");
        scheduler->DecrementCounter(event);
        WaitAndKill(scheduler, go);
    });
    Check(done == 2, "a task was lost");
}

// A tree of child tasks. Some of them wait before they submit children. A wait for the counter of
// the root, or for the root alone, must end only when the whole tree has finished.
void ChildTree() {
    Counters counters;
    const uint32_t depth = 2 + Random(2);
    uint32_t visits = 0;
    auto leaf = [](TaskScheduler *) {};
    const Task *ofHeight = nullptr;  // shared by all nodes of one height
    IndexedTasks tree(depth + 1, [&](TaskScheduler *scheduler, uint32_t height) {
        if (Random(3) == 0) {
            Counter *own = counters.New();
            scheduler->AddTask(MakeTask(leaf), own);
            WaitAndKill(scheduler, own);
        } else if (Random(4) == 0) {
            scheduler->Yield();
        }
        if (height != 0) {
            const Task children[] = {ofHeight[height - 1], ofHeight[height - 1]};
            scheduler->AddChildTasks(2, children, Of(AnyPriority()));
        }
        ++visits;
    });
    ofHeight = tree.data();
    const bool isFused = Random(2) != 0, hasOther = Random(2) != 0;
    RunMain(Options(1 + Random(3), 21), [&](TaskScheduler *scheduler) {
        const Task tasks[] = {tree[depth], MakeTask(leaf)};
        if (isFused) {
            scheduler->AddTasksAndWait(hasOther ? 2 : 1, tasks);
        } else {
            Counter *counter = counters.New();
            scheduler->AddTasks(hasOther ? 2 : 1, tasks, counter);
            WaitAndKill(scheduler, counter);
        }
        Check(visits == (2u << depth) - 1,
              "a wait ended before the children of its tasks had finished");
    });
}

// Tasks wait in different ways, with migrateAfterWait. After each wait the task is on another
// worker, unless it has tried for ten milliseconds. All tasks end.
void Migrate() {
    SchedulerOptions options = Options(2 + Random(2), 14);
    options.migrateAfterWait = true;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) {};
    auto waits = [&](TaskScheduler *scheduler) {
        const uint32_t before = scheduler->CurrentWorker();
        const uint64_t begin = weft::env::Now();
        const uint32_t kind = Random(3);
        if (kind == 0) {
            AddAndWait(scheduler, leaf);
        } else if (kind == 1) {
            RunTask(scheduler, leaf);
        } else {
            Counter counter;
            scheduler->AddTask(MakeTask(leaf), &counter);
            WaitForCounterFor(*scheduler, &counter, std::chrono::seconds(1));
        }
        Check(scheduler->CurrentWorker() != before || weft::env::Now() >= begin + 10'000'000,
              "a task stayed on its worker after a wait");
        ++done;
    };
    RunMain(options, [&](TaskScheduler *scheduler) { AddAndWait(scheduler, waits, waits, waits); });
    Check(done == 3, "a task was lost");
}

// Tasks wait for all values of a counter below `waiters`. Returns how many operations it takes to
// lower the counter to zero, one by one: steps, and uses of wait records.
uint64_t CostOfValues(uint32_t waiters) {
    uint32_t waiting = 0, done = 0;
    uint64_t cost = 0;
    Counter counter(waiters);
    auto waits = [&](TaskScheduler *scheduler) {
        const uint32_t value = waiting++;
        scheduler->WaitForCounter(&counter, value);
        Check(counter.Value() <= value, "a wait ended too early");
        ++done;
    };
    RunMain(Options(1, waiters + 2), [&](TaskScheduler *scheduler) {
        Counter all;
        AddBatch(scheduler, waiters, waits, &all);
        while (waiting < waiters) scheduler->Yield();
        const uint64_t before = OwnSteps() + weft::env::g_plainUses;
        for (uint32_t i = 0; i < waiters; ++i) scheduler->DecrementCounter(&counter);
        cost = OwnSteps() + weft::env::g_plainUses - before;
        scheduler->WaitForCounter(&all);
    });
    Check(done == waiters, "a task was lost");
    return cost;
}

// Each decrement wakes one of n waiters. The cost of all must not grow with the square of n.
void ValuesCostTheSame() {
    const uint64_t few = CostOfValues(64), many = CostOfValues(256);
    Check(many <= 8 * few,
          "four times as many waiters for values cost more than eight times as much");
}

}  // namespace

std::vector<Model> WaitModels() {
    return {
        {"children", "a tree of child tasks, some of which wait", ChildTree},
        {"restrict_higher", "a wait with HighOnly or NormalOrHigher among tasks of all priorities",
         HigherOnly},
        {"restrict_wakes", "a High task that only the restricted worker can run", HigherWakes},
        {"restrict_stack", "the same, but at first no fiber is free for it", HigherGetsStack},
        {"restrict_hands", "it has no fiber, and finds a waiter for a task that it must not begin",
         HigherHandsNothing},
        {"restrict_holds",
         "a restricted worker without a fiber holds a task while another one goes to sleep",
         HigherRescueHolds},
        {"restrict_meets", "two tasks wait with a restriction until the other one has begun",
         [] { WaitersMeet(Meanwhile::HighOnly, Meanwhile::NormalOrHigher, 5 + Random(4), 2); }},
        {"restrict_rests", "three restricted waits and one free fiber: the workers sleep",
         RestrictedRest},
        {"block_runs_nothing",
         "a wait with Meanwhile::Nothing; tasks of all priorities, and one that is pinned",
         NothingRuns},
        {"block_attached", "the same by an attached thread, which detaches", NothingAttached},
        {"block_meets", "two tasks block their workers until the other one has begun",
         [] { WaitersMeet(Meanwhile::Nothing, Meanwhile::Nothing, 7, 0); }},
        {"migrate", "waits with migrateAfterWait", Migrate},
        {"wait_values", "a counter falls, and a task waits for each of its values",
         ValuesCostTheSame, 200},
    };
}

}  // namespace simulator
