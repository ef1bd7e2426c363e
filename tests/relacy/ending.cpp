// The end of a run: the scheduler's own queues, search, sleep, wake-ups, gate and guests, with a
// worker loop and tasks of the test. No submitted task may be lost, the run must end, and no thread
// may use a scheduler that is gone.
#include "relacy/suite.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/ordered.h"
#include "scheduler/policy/own_tasks.h"
#include "scheduler/run/run.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"

#include "core/counters.cpp"
#include "scheduler/policy/next_work.cpp"
#include "scheduler/policy/places.cpp"
#include "scheduler/run/ending.cpp"
#include "scheduler/run/idle_loop.cpp"
#include "scheduler/state/groups.cpp"
#include "scheduler/submit/finish.cpp"
#include "scheduler/submit/submit.cpp"
#include "scheduler/submit/wake.cpp"
#include "scheduler/wait/external.cpp"

weft::internal::DebugRoot weft_debug_root{};  // nobody reads it

namespace relacy {

void (*runWork)(Worker &worker, const Work &work) = nullptr;  // set by the test that runs

}  // namespace relacy

namespace weft {

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    internal::EntryGate::Construct(*this, options);
}
TaskScheduler::~TaskScheduler() { internal::EntryGate::StateOf(*this).~SchedulerState(); }

namespace internal {

// Replacements for the rest of the scheduler: nothing is traced or drawn, and no fiber is left. A
// report is a failure.
uint32_t NewRunNumber() noexcept { return 0; }
void SchedulerTag::Release() noexcept {}
void StackMemory::Release() noexcept {}
Work PickOwn(Worker &) noexcept { return {}; }
Work DrawNext(Worker &) noexcept { return {}; }
bool PassTime(Worker &) noexcept { return false; }
void EndIsLate(Scheduler &, Worker &) noexcept { env::Panic("time stands still"); }
uint64_t WatchForStall(Scheduler &) noexcept { return Timers::kNever; }
Fiber *AcquireFiber(Worker &, const Work &) noexcept { return nullptr; }
void SwitchTo(Fiber &, Fiber &, Destination) noexcept { env::Panic("no fiber is left"); }
Fiber *Rescue(Worker &, const Work &) noexcept { return nullptr; }
void PutBehind(Worker &, const Work &) noexcept {}
void PrepareToBlock(Worker &) noexcept {}
void BeginWait(Fiber &, const WaitFor &) noexcept {}
void OutOfMemory(const Scheduler &) noexcept { env::Panic("out of memory"); }
void ReportWrongScheduler(const Scheduler &, const char *, const Counter &) noexcept {
    env::Panic("an unexpected report");
}
void ReportMistake(const SchedulerOptions &, ReportCode, const char *, const char *, ...) noexcept {
    env::Panic("an unexpected report");
}
void ReportOnce(Scheduler &, ReportCode, const char *, const char *, ...) noexcept {
    env::Panic("an unexpected report");
}
void EmitNow(Scheduler &, Worker *, TraceKind, const Counter *, uint32_t, uint32_t) noexcept {}
void EmitReady(Scheduler &, Worker *, Fiber &) noexcept {}
uint32_t TraceSubmit(Scheduler &, Worker *, uint32_t, const Task *, const TasksOf &,
                     Level) noexcept {
    return 0;
}
void TraceDeferred(Scheduler &, Worker *, const ChunkList &) noexcept {}
// A task that waits keeps its stack. Its worker runs the loop on top of it, so only one task may
// wait at a time.
bool Wait(Worker &worker, const WaitFor &what) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    while (!IsReached(what.counter, what.value)) {
        if (const Work work = NextWork(worker)) {
            relacy::runWork(worker, work);
            continue;
        }
        scheduler.idle.StartSearching(false);
        scheduler.idle.Announce(worker.index, worker.filter.may, false);
        if (!AnyWork(worker)) AnswerIdleRequests(scheduler, &worker);
        GetUp(worker);
        if (scheduler.idle.StopSearching(false)) WakePlain(scheduler, &worker, 1);
        env::Pause();
    }
    return true;
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
    Data memory;           // written when the scheduler is freed
    Data written[kTasks];  // by the submitter of each task, and then by the task
    int ran[kTasks] = {};
    uint32_t returned = 0;
    char stack[64];  // all tasks seem to run on it

    void Acquire() {
        static RunTest *current;
        current = this;
        runWork = [](Worker &worker, const Work &work) { current->RunWork(worker, work); };
        scheduler.taskScheduler = &taskScheduler;
        scheduler.options.idle = IdlePolicy::Sleep;
        scheduler.workerCount = scheduler.slotCount = kWorkers;
        scheduler.slotsInUse.store(kWorkers, kRelaxed);
        scheduler.activeWorkers.store(kWorkers, kRelaxed);
        scheduler.workers = Memory().NewArray<Worker>(kWorkers);
        scheduler.fibers.all = Memory().NewArray<Fiber>(kWorkers);
        bool acquired = scheduler.idle.Acquire(kWorkers) &&
                        scheduler.pools.singles.Acquire(kWorkers) &&
                        scheduler.counters.Acquire(kWorkers, 1, {}, kWorkers, &scheduler.notices) &&
                        scheduler.pools.threadWaiters.Acquire();
        for (uint32_t i = 0; i < kWorkers; ++i) {
            Worker &worker = scheduler.workers[i];
            worker.scheduler = &scheduler;
            worker.taskScheduler = &taskScheduler;
            worker.index = i;
            worker.current = &scheduler.fibers[i];
            worker.current->worker = &worker;
            worker.current->SetStack(stack, sizeof stack, 0);
            acquired = acquired && worker.queue[Level(Priority::Normal).Index()].Acquire(2);
        }
        Check(acquired, "no memory");
        AssignGroups(scheduler);
        for (uint32_t i = 0; i < kWorkers; ++i) NoteFilter(scheduler.workers[i]);
        scheduler.workers[0].submitted.store(1, kRelaxed);  // the main task
        EntryGate::Open(taskScheduler, &scheduler);
    }
    void SubmitOne(Worker *worker, uintptr_t number, Counter *counter = nullptr) {
        written[number].Write(1);
        const Task task{[](TaskScheduler *, void *) {}, reinterpret_cast<void *>(number)};
        Check(Submit(scheduler, worker, 1, &task, counter, {}), "a submission was refused");
    }
    // Like MainTask, and the code around it.
    template <class Main>
    void RunMain(Main main) {
        Worker &worker = scheduler.workers[0];
        main(worker);
        WantEnd(scheduler, &worker);
        Ran(worker, nullptr, 1);
        Loop(0);
    }
    void RunWork(Worker &worker, const Work &work) {
        Task task;
        Counter *const counter = work.entry.TheCounter();
        if (work.entry.TheKind() == Entry::Chunk) {
            Chunk &chunk = work.entry.TheChunk();
            task = chunk.Tasks()[0];
            BeginChunk(worker, chunk);
            chunk.begin = 1;
            EndChunk(worker);
        } else {
            task = work.entry.TheTask();
        }
        const auto number = reinterpret_cast<uintptr_t>(task.arg);
        Check(written[number].Read() == 1, "a write of the submitter is not visible in its task");
        written[number].Write(2);
        Check(++ran[number] == 1, "invariant 1: a task runs twice");
        static_cast<Test *>(this)->Run(worker, static_cast<uint32_t>(number));
        Ran(worker, counter, 1);
    }
    // Like FiberMain.
    void Loop(uint32_t index) {
        Worker &worker = scheduler.workers[index];
        Work work;
        while ((work = NextWork(worker)) || FindWork(worker, work)) RunWork(worker, work);
        Check(PendingTasks(scheduler) == 0, "the run ended while a task was pending");
        if (++returned == kWorkers && kWorkers == 1) memory.Write(1);
    }
    // Makes one call of an external thread. Returns whether it found a scheduler.
    template <class Inside>
    bool Call(Inside inside) {
        EntryGate::Visit visit(taskScheduler);
        Scheduler *const found = visit.ComeIn();
        if (found != nullptr) {
            inside(visit);
            Check(memory.Read() == 0, "a destroyed scheduler was used");
        }
        visit.GoOut();
        return found != nullptr;
    }
    void after() {
        for (uint32_t i = 0; i < kWorkers; ++i) {
            for (auto &queue : scheduler.workers[i].queue) queue.Release();
        }
        Memory().DeleteArray(scheduler.workers, kWorkers);
        Memory().DeleteArray(scheduler.fibers.all, kWorkers);
        Check(returned == kWorkers, "the run did not end");
        static_cast<Test *>(this)->Ended();
    }
};

// The main task submits a task, which submits another one. Both must run before the end.
struct Tasks : RunTest<Tasks, 2, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 0) return Loop(index);
        RunMain([&](Worker &worker) { SubmitOne(&worker, 1); });
    }
    void Run(Worker &worker, uint32_t number) {
        if (number == 1) SubmitOne(&worker, 2);
    }
    void Ended() { Check(ran[1] == 1 && ran[2] == 1, "a task was lost"); }
};

// Nothing but the main task. Each worker finds the end, or is told.
struct Ends : RunTest<Ends, 2, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 0) return Loop(index);
        RunMain([](Worker &) {});
    }
    void Run(Worker &, uint32_t) {}
    void Ended() {}
};

// A check of a counter without a wait, with which each wait begins. It must see what the counted
// task wrote.
struct Looks : Suite<Looks, 2> {
    Counters counters;
    Counter counter{1};
    Data result;
    void thread(unsigned index) {
        if (index == 0) {
            result.Write(1);
            Check(counters.LowerPlain(CounterAccess::Word(counter), 1),
                  "LowerPlain failed without a waiter");
        } else {
            while (!IsReached(counter, 0)) env::Pause();
            Check(result.Read() == 1, "a result is missing");
        }
    }
};

// An external thread waits for a task.
struct Waits : RunTest<Waits, 2, 1> {
    Counter counter;
    Data result;
    void before() {
        Acquire();
        SubmitOne(&scheduler.workers[0], 1, &counter);
    }
    void thread(unsigned index) {
        if (index == 0) return RunMain([](Worker &) {});
        Call([&](EntryGate::Visit &visit) {
            Check(WaitExternal(visit, scheduler, {counter}), "the wait failed");
            Check(result.Read() == 1, "a result is missing");
        });
    }
    void Run(Worker &, uint32_t) { result.Write(1); }
    void Ended() { Check(ran[1] == 1, "a task was lost"); }
};

// An external thread submits. The task must run, or the thread must find no scheduler.
struct Posts : RunTest<Posts, 2, 1> {
    bool posted = false;
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index == 0) return RunMain([](Worker &) {});
        posted = Call([&](EntryGate::Visit &) { SubmitOne(nullptr, 1); });
    }
    void Run(Worker &, uint32_t) {}
    void Ended() { Check(ran[1] == (posted ? 1 : 0), "a task was lost"); }
};

// An external thread waits until nothing is pending (WaitIdle).
struct Idles : RunTest<Idles, 2, 1> {
    void before() {
        Acquire();
        SubmitOne(&scheduler.workers[0], 1);
    }
    void thread(unsigned index) {
        if (index == 0) return RunMain([](Worker &) {});
        Call([&](EntryGate::Visit &visit) {
            WaitIdle({scheduler, nullptr, &visit});
            Check(written[1].Read() == 2, "WaitIdle returned while a task was pending");
        });
    }
    void Run(Worker &, uint32_t) {}
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
        WantEnd(scheduler, nullptr);
        WakeOne(scheduler, nullptr, kPlainLevels);
    }
    void Run(Worker &, uint32_t) {}
    void Ended() {}
};

// Two workers finish a task each, while an external thread is in WaitIdle. The last one must answer
// the request, or let the other one see what it has finished. Then the thread ends the run.
struct BothAnswer : RunTest<BothAnswer, 3, 2> {
    void before() {
        Acquire();
        scheduler.workers[0].submitted.store(0, kRelaxed);
        for (uint32_t i = 0; i < 2; ++i) SubmitOne(&scheduler.workers[i], 1 + i);
    }
    void thread(unsigned index) {
        if (index != 2) return Loop(index);
        Call([&](EntryGate::Visit &visit) {
            WaitIdle({scheduler, nullptr, &visit});
            for (int i = 1; i < 3; ++i)
                Check(written[i].Read() == 2, "WaitIdle returned while a task was pending");
        });
        WantEnd(scheduler, nullptr);
        WakeOne(scheduler, nullptr, kPlainLevels);
    }
    void Run(Worker &, uint32_t) {}
    void Ended() { Check(ran[1] == 1 && ran[2] == 1, "a task was lost"); }
};

// A task submits another one and calls WaitIdle. The wait must not end before that task has
// finished.
struct TaskIdles : RunTest<TaskIdles, 2, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 0) return Loop(index);
        RunMain([&](Worker &worker) { SubmitOne(&worker, 1); });
    }
    void Run(Worker &worker, uint32_t number) {
        if (number != 1) return;
        SubmitOne(&worker, 2);
        WaitIdle({scheduler, worker.current, nullptr});
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
    runner.Run<Ends>("ends", 20000);
    runner.Run<Looks>("looks", 5000);
    runner.Run<Waits>("waits", 5000);
    runner.Run<Posts>("posts", 5000);
    runner.Run<Idles>("idles", 5000);
    runner.Run<Stops>("stops", 5000);
    runner.Run<BothAnswer>("both_answer", 20000);
    runner.Run<TaskIdles>("task_idles", 5000);
    return runner.Report();
}
