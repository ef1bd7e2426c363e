// Begins and ends runs. The steps of the end:
// 1. A worker that finds nothing pending closes the gate, sets `stopping` and wakes all
//    (wait/sleep.cpp).
// 2. Each loop gives its fiber to the pool and switches to its thread's own stack, where ThreadMain
//    returns. At that time all pool fibers are suspended in their loops.
// 3. When all threads are joined, the caller of Run or Stop sets `ending` and switches once to
//    every fiber that ever ran. The fiber's loop then returns. So each stack ends properly, and the
//    sanitizers free their records of it.
#include "scheduler/run/lifecycle.h"

#include "platform/backoff.h"
#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/find/claim.h"
#include "scheduler/run/attach.h"
#include "scheduler/run/ending.h"
#include "scheduler/run/new_scheduler.h"
#include "scheduler/run/search.h"
#include "scheduler/run/watchdog.h"
#include "scheduler/run/worker_loop.h"
#include "scheduler/run/worker_thread.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/sleep.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_idle.h"

namespace weft::internal {

namespace {

// Ends the free fibers, for a run that was given up (find/ordered.h). The other fibers belong to
// tasks that never continue.
template <class End>
void EndFreeFibers(Scheduler &scheduler, End end) noexcept {
    for (const StackClass stack : {StackClass::Small, StackClass::Large}) {
        for (uint32_t i;
             (i = scheduler.pool.AcquireFiber(stack, scheduler.workerCount)) != FiberPool::kNone;)
            end(scheduler.fibers[i]);
    }
}

// Ends every fiber that ever ran (step 3 above).
void EndFibers(Scheduler &scheduler) noexcept {
    FiberContext here;
    here.Adopt();
    scheduler.ending = &here;
    const auto end = [&](Fiber &fiber) {
        if (!fiber.HasRun()) return;
        fiber.worker = &scheduler.workers[0];
        SwitchContext(here, fiber.context);
    };
    if (scheduler.order.isGivenUp) {
        EndFreeFibers(scheduler, end);
    } else {
        for (uint32_t i = 0; i < scheduler.FiberCount(); ++i) end(scheduler.fibers[i]);
    }
    for (uint32_t i = scheduler.workerCount; i < scheduler.slotCount; ++i)
        end(scheduler.workers[i].threadFiber);
    scheduler.ending = nullptr;
}

// Runs the main task of Run, and then ends the run.
void MainTask(TaskScheduler *taskScheduler, void *arg) {
    // also if the task throws
    struct Returning {
        Scheduler *scheduler;
        ~Returning() { WantEnd(*scheduler, CurrentWorker(), Timers::kNever); }
    } const returning{static_cast<Scheduler *>(arg)};
    returning.scheduler->main.function(taskScheduler, returning.scheduler->main.arg);
}

// Gives worker 0 the main task as its claim. Returns the fiber of the task's class on which worker
// 0 begins.
Fiber *PrepareMain(Scheduler &scheduler, const TaskOptions &options) noexcept {
    Worker &worker = scheduler.workers[0];
    worker.submitted.store(1, kRelaxed);  // no other thread exists yet
    const Label label = LabelInGroups(scheduler, nullptr, options);
    ClaimEntry(&worker,
               TaskEntry::Single({MainTask, &scheduler}, nullptr, label.name, label.Stack()),
               label.TheLevel(), 0);
    worker.claim.pinned = options.worker == 0;
    return &scheduler.fibers[scheduler.pool.AcquireFiber(options.stack, 0)];
}

// Reports that the system has refused the thread of worker `next`, or that of the watchdog.
void ReportNoThread(const Scheduler &scheduler, uint32_t next, bool isWatchdog) noexcept {
    constexpr const char *kHint = "Lower these options, or raise the limits of the process.";
    const SchedulerOptions &options = scheduler.options;
    if (isWatchdog) {
        ReportMistake(options, ReportCode::BadOption, kHint,
                      "the scheduler cannot start: the system refuses the thread of the watchdog "
                      "(SchedulerOptions::watchdogMilliseconds, threadStackBytes)");
    } else {
        ReportMistake(
            options, ReportCode::BadOption, kHint,
            "the scheduler cannot start: the system refuses the thread of worker %u of %u, "
            "with a stack of %zu bytes (SchedulerOptions::workers, threadStackBytes)",
            next, scheduler.workerCount, options.threadStackBytes);
    }
}

// Starts the threads of the workers from `first` on, if the host does not provide them. If one does
// not start, ends those that did, reports it, and returns false.
bool StartThreads(Scheduler &scheduler, uint32_t first) noexcept {
    const bool hosted = scheduler.options.hostThreads;
    const uint32_t end = hosted ? first : scheduler.workerCount;
    // relaxed: no other thread knows the scheduler yet
    scheduler.absent.store(scheduler.workerCount - end, kRelaxed);
    scheduler.startCpu = scheduler.workerCount <= env::UsableCpus() ? env::CurrentCpu() : -1;
    uint32_t next = first;
    const bool watches = StartWatchdog(scheduler);
    while (watches && next < end) {
        Worker &worker = scheduler.workers[next];
        if (!worker.thread.Start(WorkerThread, &worker, scheduler.options.threadStackBytes)) break;
        ++next;
    }
    if (watches && next == end) return true;
    const uint32_t refused = next;
    scheduler.stopping.store(true, kSeqCst);  // [order]
    WakeAll(scheduler, nullptr);
    while (next > first) scheduler.workers[--next].thread.Join();
    EndWatchdog(scheduler);
    // Clears Run's main task. Otherwise the loops, which end now on this thread, would run it.
    scheduler.workers[0].claim.Clear();
    EndFibers(scheduler);
    ReportNoThread(scheduler, refused, !watches);
    return false;
}

// Joins the threads of the workers from `first` on, and ends all fibers.
void JoinThreads(Scheduler &scheduler, uint32_t first) noexcept {
    if (scheduler.options.hostThreads) {
        AwaitHostThreads(scheduler, first);
    } else {
        for (uint32_t i = first; i < scheduler.workerCount; ++i) scheduler.workers[i].thread.Join();
    }
    EndWatchdog(scheduler);
    WEFT_INVARIANT(scheduler, PendingTasks(scheduler) == 0 || scheduler.order.isGivenUp,
                   "a submitted task runs exactly once");
    EndFibers(scheduler);
}

// Without workers the caller of Stop attaches itself and runs the work that is left. That includes
// work that threads which are blocked in a call wait for.
void DrainWithoutWorkers(Scheduler &scheduler) noexcept {
    do {
        // Another thread that has just taken the slot may not be counted as attached yet.
        for (Backoff backoff; Attach(scheduler, true) != Status::Ok; backoff.Next())
            AwaitDetached(scheduler);
        // the one guest that is left is the caller
        Wait(CurrentWorker(), scheduler.guestsLeft, 1, ResumeOn::AnyWorker);
        WaitIdleHere(CurrentWorker());
        Detach(CurrentWorker());
    } while (!EndRun(scheduler));
}

}  // namespace

Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    Status status;
    Scheduler *scheduler = NewScheduler(taskScheduler, status);
    if (scheduler == nullptr) return status;
    scheduler->main = main;
    Fiber *first = PrepareMain(*scheduler, mainOptions);
    scheduler->workers[0].hasThread.store(true, kRelaxed);  // no other thread exists yet
    void *const outer = env::ThreadSlot();  // the caller may be a task of another scheduler
    scheduler->workers[0].outerSlot = outer;
    if (StartThreads(*scheduler, 1)) {
        EntryGate::Open(taskScheduler, scheduler);
        const bool signals = options.reportStackOverflow;
        if (signals) scheduler->workers[0].signalStack.Set();
        // a new thread moves away from this CPU when it runs for the first time
        if (scheduler->workerCount > 1) env::YieldThread();
        race::ThreadBegan(&scheduler->workers[0]);
        ThreadMain(&scheduler->workers[0], first);
        if (signals) scheduler->workers[0].signalStack.Reset();
        JoinThreads(*scheduler, 1);
    } else {
        status = Status::ThreadFailed;
    }
    env::SetThreadSlot(outer);
    race::SawAll(scheduler);
    DeleteScheduler(*scheduler);
    return status;
}

Status StartScheduler(TaskScheduler &taskScheduler) noexcept {
    Status status;
    Scheduler *scheduler = NewScheduler(taskScheduler, status);
    if (scheduler == nullptr) return status;
    if (!StartThreads(*scheduler, 0)) {
        DeleteScheduler(*scheduler);
        return Status::ThreadFailed;
    }
    EntryGate::StateOf(taskScheduler).started = scheduler;
    EntryGate::Open(taskScheduler, scheduler);
    return Status::Ok;
}

bool StopScheduler(TaskScheduler &taskScheduler, uint64_t withdrawsAt) noexcept {
    Scheduler &scheduler = *EntryGate::StateOf(taskScheduler).started;  // only this call ends it
    WantEnd(scheduler, nullptr, withdrawsAt);
    if (scheduler.order.isGivenUp) {
        EntryGate::Close(taskScheduler, [] { return true; });
        scheduler.stopping.store(true, kSeqCst);
    } else if (scheduler.workerCount == 0) {
        DrainWithoutWorkers(scheduler);
    } else {
        WakeForAny(scheduler, nullptr);
        // The tasks that are left must run, even if the host has provided no thread at all.
        const Taken taken = TakeWorker(taskScheduler, 0, scheduler.workerCount);
        if (taken.worker != nullptr) HostThread(*taken.worker);
    }
    JoinThreads(scheduler, 0);
    race::SawAll(&scheduler);
    const bool isComplete = !scheduler.lateEnd.hasWithdrawn && !scheduler.order.isGivenUp;
    DeleteScheduler(scheduler);
    return isComplete;
}

}  // namespace weft::internal
