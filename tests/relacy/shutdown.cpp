// The end of a run: the scheduler's own search, sleep, wake-ups, gate and guests, with a worker
// loop and tasks of the test. No submitted task may be lost, the run must end, and no thread may
// access a scheduler that is gone.
#include "relacy/suite.h"

#include "scheduler/find/claim.h"
#include "scheduler/find/own_tasks.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/stall.h"
#include "scheduler/run/search.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/wait.h"

#include "core/counter_waiting.cpp"
#include "core/fiber_pool.cpp"
#include "scheduler/find/any_work.cpp"
#include "scheduler/find/arrivals.cpp"
#include "scheduler/find/find_work.cpp"
#include "scheduler/find/steal.cpp"
#include "scheduler/find/steal_backoff.cpp"
#include "scheduler/find/take.cpp"
#include "scheduler/run/search.cpp"
#include "scheduler/state/groups.cpp"
#include "scheduler/state/scheduler.cpp"
#include "scheduler/submit/deliver.cpp"
#include "scheduler/submit/notify.cpp"
#include "scheduler/submit/post.cpp"
#include "scheduler/submit/timing.cpp"
#include "scheduler/submit/wake.cpp"
#include "scheduler/wait/external.cpp"
#include "scheduler/wait/idle_requests.cpp"
#include "scheduler/wait/sleep.cpp"
#include "scheduler/wait/wait_idle.cpp"

namespace relacy {

void (*runClaimed)(Worker *worker) = nullptr;  // set by the test that runs

}  // namespace relacy

namespace weft {

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    internal::EntryGate::Construct(*this, options);
}
TaskScheduler::~TaskScheduler() { internal::EntryGate::StateOf(*this).~SchedulerState(); }

namespace internal {

// Replacements for the rest of the scheduler: no slices, nothing pinned, no fiber switches. A
// report is a failure.
uint32_t NewRunNumber() noexcept { return 0; }
void ClaimEntry(Worker *worker, const TaskEntry &entry, Level, uint32_t) noexcept {
    worker->claim.single = entry.TheTask();
    worker->claim.counter = entry.TheCounter();
}
void Enqueue(Worker *worker, uint32_t count, const Task *tasks, TaskCounter counter,
             Label) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        worker->mayHold |= 1u << LaneOf(Priority::Normal, StackClass::Small);
        relacy::Check(worker->lanes[LaneOf(Priority::Normal, StackClass::Small)].Push(
                          TaskEntry::Single(tasks[i], counter, nullptr, StackClass::Small)),
                      "memory");
    }
}
Found Pinned(Worker *, Priority) noexcept { return {}; }
Found PinnedTask(Worker *, Priority, bool, Serving *) noexcept { return {}; }
Found PinnedFiber(Worker *, Priority, Serving *) noexcept { return {}; }
Found FindServing(Worker *) noexcept { return {}; }
Found FindPinnedServing(Worker *) noexcept { return {}; }
bool AnyAwaited(const Worker *) noexcept { return false; }
void SortInbox(Worker *) noexcept {}
Found FindOrdered(Worker *, WorkerMode) noexcept { return {}; }
Found FindPinnedOrdered(Worker *) noexcept { return {}; }
void SwitchTo(Fiber *, Fiber *, Destination) noexcept {}  // only with an order
Found Late(Worker *, WorkerMode) noexcept { return {}; }  // no time passes
Fiber *Rescue(Worker *, StackClass) noexcept { return nullptr; }
bool IsRescueDone(const Worker *, StackClass) noexcept { return true; }
bool AllAsleep(const Scheduler &) noexcept { return false; }
void WatchForStall(Worker *) noexcept {}
bool AnyPinnedTask(const Worker *) noexcept { return false; }
void LowerPending(Worker *) noexcept { relacy::Check(false, "a decrement is pending"); }
bool LookIfPendingIsDue(Worker *) noexcept { return true; }
// A task that waits keeps its stack. Its worker runs the loop on top of it, so only one task may
// wait at a time.
void Wait(Worker *worker, Counter &counter, uint32_t value, ResumeOn) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    while (!IsSatisfied(counter, value)) {
        if (SearchForTasks(worker)) {
            relacy::runClaimed(worker);
            continue;
        }
        worker->searching = false;
        scheduler.idle.Announce(worker->index, WorkerMode::Tasks);
        if (!AnyWork(worker, WorkerMode::Tasks)) AnswerIdleRequests(scheduler, worker);
        if (!scheduler.idle.Cancel(worker->index, WorkerMode::Tasks)) worker->parker.Park();
        worker->searching = true;
        env::Pause();
    }
}
bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    return scheduler.counters.Add(CounterAccess::Word(counter), n) == CounterResult::Ok;
}
void SchedulerTag::Release() noexcept {}
void StackMemory::Release() noexcept {}
void OutOfMemory(const Scheduler &, uint32_t) noexcept { env::Panic("out of memory"); }
void ReportWrongScheduler(const Scheduler &, const char *, const Counter &) noexcept {
    env::Panic("an unexpected report");
}
void ReportMistake(const SchedulerOptions &, ReportCode, const char *, const char *, ...) noexcept {
    env::Panic("an unexpected report");
}
bool WasReported(const Scheduler &, ReportCode) noexcept { return false; }
// Nothing is traced.
void EmitNow(Scheduler &, Worker *, TraceKind, TraceEvent &) noexcept {}
uint32_t TraceSubmit(Scheduler &, Worker *, uint32_t, const Task *, const Counter *,
                     Label) noexcept {
    return 0;
}
void ReportOnce(Scheduler &, ReportCode, const char *, const char *, ...) noexcept {
    env::Panic("an unexpected report");
}
void ReportFatal(const SchedulerOptions &, ReportCode, const char *, const char *, ...) noexcept {
    env::Panic("an unexpected report");
}

}  // namespace internal

}  // namespace weft

namespace relacy {

namespace {

template <class Test, int kThreads, uint32_t kWorkers>
struct RunTest : Suite<Test, kThreads> {
    static constexpr uint32_t kTasks = 4;
    TaskScheduler taskScheduler;
    Scheduler scheduler;
    char stack[64];
    Fiber fiber{0, stack, sizeof stack};  // all tasks seem to run on this fiber
    Data memory;                          // written when the scheduler is freed
    Data written[kTasks];                 // by the submitter of each task, and then by the task
    int ran[kTasks] = {};
    uint32_t returned = 0;

    void Acquire() {
        static RunTest *current;
        current = this;
        runClaimed = [](Worker *worker) { current->RunClaimed(worker); };
        scheduler.taskScheduler = &taskScheduler;
        scheduler.options.idle = IdlePolicy::Sleep;
        scheduler.workerCount = scheduler.slotCount = kWorkers;
        scheduler.slotsInUse.store(kWorkers, kRelaxed);
        scheduler.activeWorkers.store(kWorkers, kRelaxed);
        scheduler.workers = Memory().NewArray<Worker>(kWorkers);
        bool acquired =
            scheduler.pool.Acquire(2, 1, kWorkers, kWorkers) && scheduler.idle.Acquire(kWorkers) &&
            scheduler.counters.Acquire(3, 1, {}, kWorkers) && scheduler.blocks.Acquire(0) &&
            scheduler.singles.Acquire(kWorkers) && scheduler.threadWaiters.Acquire();
        for (uint32_t i = 0; i < kWorkers; ++i) {
            Worker &worker = scheduler.workers[i];
            worker.scheduler = &scheduler;
            worker.taskScheduler = &taskScheduler;
            worker.index = i;
            worker.current = &fiber;
            acquired = acquired && worker.slab.Acquire();
            for (uint32_t lane = 0; lane < scheduler.Lanes(); ++lane)
                acquired = acquired && worker.lanes[lane].Acquire(2);
            for (uint32_t level = 0; level < scheduler.Levels(); ++level)
                acquired = acquired && worker.ready[level].Acquire(1);
        }
        acquired = acquired && AcquireGroups(scheduler);
        scheduler.fibers = Memory().NewArray<Fiber>(scheduler.AllFibers());
        Check(acquired && scheduler.fibers != nullptr, "no memory");
        scheduler.workers[0].submitted.store(1, kRelaxed);  // the main task
        EntryGate::Open(taskScheduler, &scheduler);
    }
    static Task TaskOfNumber(uintptr_t number) {
        return {[](TaskScheduler *, void *) {}, reinterpret_cast<void *>(number)};
    }
    void Submit(Worker *worker, uint32_t number, Counter *counter = nullptr) {
        written[number].Write(1);
        worker->submitted.store(worker->submitted.load(kRelaxed) + 1, kRelaxed);
        const Task task = TaskOfNumber(number);
        Enqueue(worker, 1, &task, counter, {});
        WakeForAny(scheduler, worker);
    }
    // Like MainTask, and the claim around it.
    template <class Main>
    void RunMain(Main main) {
        main(&scheduler.workers[0]);
        scheduler.endWanted.store(true, kSeqCst);
        CountFinished(&scheduler.workers[0], 1);
        Loop(0);
    }
    void RunClaimed(Worker *worker) {
        const auto number = reinterpret_cast<uintptr_t>(worker->claim.single.arg);
        Counter *counter = worker->claim.counter;
        Check(written[number].Read() == 1, "a write of the submitter is not visible in its task");
        written[number].Write(2);
        Check(++ran[number] == 1, "invariant 1: a task runs twice");
        static_cast<Test *>(this)->Run(worker, static_cast<uint32_t>(number));
        // Like LowerPending.
        CountFinished(worker, 1);
        if (counter != nullptr) LowerCounter(scheduler, worker, *counter, 1);
    }
    // Like ThreadLoop, and the loop on a fiber.
    void Loop(uint32_t index) {
        Worker *worker = &scheduler.workers[index];
        while (!scheduler.stopping.load(kRelaxed)) {
            if (!SearchForTasks(worker)) {
                Sleep(worker, WorkerMode::Tasks);
                continue;
            }
            RunClaimed(worker);
        }
        Check(PendingTasks(scheduler) == 0, "the run ended while a task was pending");
        if (++returned == kWorkers && kWorkers == 1) memory.Write(1);
    }
    void after() {
        for (uint32_t i = 0; i < kWorkers; ++i) {
            Worker &worker = scheduler.workers[i];
            for (auto &lane : worker.lanes) lane.Release();
            for (auto &ready : worker.ready) ready.Release();
        }
        Memory().DeleteArray(scheduler.workers, kWorkers);
        Memory().DeleteArray(scheduler.fibers, scheduler.AllFibers());
        Check(returned == kWorkers, "the run did not end");
        static_cast<Test *>(this)->Ended();
    }
};

// The main task submits a task, which submits another one. Both must run before the end.
struct Tasks : RunTest<Tasks, 2, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 0) return Loop(index);
        RunMain([&](Worker *worker) { Submit(worker, 1); });
    }
    void Run(Worker *worker, uint32_t number) {
        if (number == 1) Submit(worker, 2);
    }
    void Ended() { Check(ran[1] == 1 && ran[2] == 1, "a task was lost"); }
};

// A check of a counter without a wait, with which each wait begins. It must see what the counted
// task wrote.
struct Looks : Suite<Looks, 2> {
    CounterWaiting waiting;
    Counter counter{1};
    Data result;
    void thread(unsigned index) {
        if (index == 0) {
            result.Write(1);
            Check(waiting.TryDecrement(CounterAccess::Word(counter), 1),
                  "TryDecrement failed without a waiter");
        } else {
            while (!IsSatisfied(counter, 0)) env::Pause();
            Check(result.Read() == 1, "a result is missing");
        }
    }
};

// An external thread waits for a task.
struct Waits : RunTest<Waits, 2, 1> {
    Counter counter{1};
    Data result;
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index == 0) return RunMain([&](Worker *worker) { Submit(worker, 1, &counter); });
        EntryGate::Visit visit(taskScheduler);
        if (Scheduler *found = visit.ComeIn(); found != nullptr) {
            WaitExternal(visit, *found, counter, 0);
            Check(memory.Read() == 0, "a destroyed scheduler was used");
            Check(result.Read() == 1, "a result is missing");
        }
        visit.GoOut();
    }
    void Run(Worker *, uint32_t) { result.Write(1); }
    void Ended() { Check(ran[1] == 1, "a task was lost"); }
};

// An external thread submits. The task must run, or the thread must find no scheduler.
struct Posts : RunTest<Posts, 2, 1> {
    bool posted = false;
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index == 0) return RunMain([](Worker *) {});
        EntryGate::Visit visit(taskScheduler);
        if (Scheduler *found = visit.ComeIn(); found != nullptr) {
            written[1].Write(1);
            const Task task = TaskOfNumber(1);
            posted = Post(*found, nullptr, 1, &task, nullptr, {});
            Check(memory.Read() == 0, "a destroyed scheduler was used");
        }
        visit.GoOut();
    }
    void Run(Worker *, uint32_t) {}
    void Ended() { Check(ran[1] == (posted ? 1 : 0), "a task was lost"); }
};

// An external thread waits until nothing is pending (WaitIdle).
struct Idles : RunTest<Idles, 2, 1> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index == 0) return RunMain([&](Worker *worker) { Submit(worker, 1); });
        EntryGate::Visit visit(taskScheduler);
        if (Scheduler *found = visit.ComeIn(); found != nullptr) {
            WaitIdleExternal(visit, *found);
            Check(memory.Read() == 0, "a destroyed scheduler was used");
        }
        visit.GoOut();
    }
    void Run(Worker *, uint32_t) {}
    void Ended() { Check(ran[1] == 1, "a task was lost"); }
};

// An external thread calls Stop after Start, so there is no main task. Like StopScheduler.
struct Stops : RunTest<Stops, 2, 1> {
    void before() {
        Acquire();
        scheduler.workers[0].submitted.store(0, kRelaxed);
    }
    void thread(unsigned index) {
        if (index == 0) return Loop(0);
        scheduler.endWanted.store(true, kSeqCst);
        WakeForAny(scheduler, nullptr);
    }
    void Run(Worker *, uint32_t) {}
    void Ended() {}
};

// A task submits another one and calls WaitIdle. The wait must not end before that task has
// finished.
struct TaskIdles : RunTest<TaskIdles, 2, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 0) return Loop(index);
        RunMain([&](Worker *worker) { Submit(worker, 1); });
    }
    void Run(Worker *worker, uint32_t number) {
        if (number != 1) return;
        Submit(worker, 2);
        WaitIdleHere(worker);
        Check(written[2].Read() == 2, "WaitIdle returned while a task was pending");
    }
    void Ended() { Check(ran[1] == 1 && ran[2] == 1, "a task was lost"); }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Tasks>("tasks", 5000);
    runner.Run<Looks>("looks", 5000);
    runner.Run<Waits>("waits", 5000);
    runner.Run<Posts>("posts", 5000);
    runner.Run<Idles>("idles", 5000);
    runner.Run<Stops>("stops", 5000);
    runner.Run<TaskIdles>("task_idles", 5000);
    return runner.Report();
}
