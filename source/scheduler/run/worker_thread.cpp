// Implements worker_thread.h.
#include "scheduler/run/worker_thread.h"

#include "platform/backoff.h"
#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/run/worker_loop.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"

namespace weft::internal {

namespace {

// A set of CPUs, as bits. `cpus` is null if there is none.
struct Mask {
    const uint64_t *cpus = nullptr;
    uint32_t words = 0;
};

// Returns the worker's CPUs. None if only Affinity::Kind decides.
Mask MaskOf(const Worker &worker) noexcept {
    const WorkerGroup &group = worker.scheduler->groups[worker.group];
    if (group.cpus != nullptr) return {group.cpus, group.cpuWords};
    const Affinity &affinity = worker.scheduler->options.affinity;
    if (affinity.kind != Affinity::Kind::Explicit) return {};
    return {affinity.masks + worker.index * affinity.maskWords, affinity.maskWords};
}

// Names and places the calling thread. If the system refuses something, reports that and continues
// without it.
void SetUpThread(const Worker &worker) noexcept {
    const SchedulerOptions &options = worker.scheduler->options;
    const WorkerGroup &group = worker.scheduler->groups[worker.group];
    const char *const name = group.name != nullptr ? group.name : options.threadName;
    if (name != nullptr) env::NameThread(name, worker.index);
    const int nice = static_cast<int>(options.threadNice + group.nice);
    if (nice != 0 && !env::AddNice(nice)) {
        ReportMistake(
            options, ReportCode::BadOption, "Give values that this user may set.",
            "SchedulerOptions::threadNice, WorkerGroup::nice: the system refused %d for worker %u",
            nice, worker.index);
    }
    env::SetPreciseSleep();
    if (options.threadSliceMicroseconds != 0) env::SetSlice(options.threadSliceMicroseconds);
    if (group.cpus == nullptr && options.affinity.kind == Affinity::Kind::None) {
        env::UnbindThread();  // the thread that started the scheduler may be bound
        // Otherwise two threads may begin on one CPU, and the system takes up to 10 ms to move one
        // of them. With Run, worker 0 is the caller itself.
        const bool isRun = worker.scheduler->main.function != nullptr;
        return env::MoveBehindCpu(worker.scheduler->startCpu, worker.index + (isRun ? 0 : 1));
    }
    const Mask mask = MaskOf(worker);
    if (mask.cpus != nullptr ? !env::BindThread(mask.cpus, mask.words)
                             : !env::BindThreadToNth(worker.index)) {
        ReportMistake(options, ReportCode::BadOption,
                      "Give masks with a CPU that the system grants to this process.",
                      "SchedulerOptions::affinity, WorkerGroup::cpus: none of the CPUs for worker "
                      "%u may be used",
                      worker.index);
    }
}

// Calls a hook on the worker's thread. The worker is set up before, so that calls that a hook must
// not make are noticed.
void CallThreadHook(Worker *worker, void (*hook)(uint32_t, void *)) noexcept {
    if (hook == nullptr) return;
    worker->threadFiber.worker = worker;
    worker->current = &worker->threadFiber;
    worker->inHook = worker->mustNotSubmit = true;
    env::SetThreadSlot(worker);
    hook(worker->index, worker->scheduler->options.threads.user);
    env::SetThreadSlot(nullptr);
    worker->inHook = worker->mustNotSubmit = false;
}

// Does what the worker has to do, until the run ends.
void Work(Worker *worker) noexcept {
    const ThreadHooks &hooks = worker->scheduler->options.threads;
    worker->signalStack.Set();
    CallThreadHook(worker, hooks.onStart);
    ThreadMain(worker, nullptr);
    CallThreadHook(worker, hooks.onStop);
    worker->signalStack.Reset();
}

// Takes the first absent worker of `index` to `end` - 1. Returns null if there is none.
Worker *TakeFirst(Scheduler &scheduler, uint32_t index, uint32_t end) noexcept {
    for (; index < end && index < scheduler.workerCount; ++index) {
        Worker &worker = scheduler.workers[index];
        // The first thread gets it. release and acquire: a thread that comes after Stop sees that
        // the run is ending.
        if (worker.hasThread.exchange(true, kAcqRel)) continue;
        scheduler.absent.fetch_sub(1, kSeqCst);  // before it can sleep, see AllAsleep
        return &worker;
    }
    return nullptr;
}

// The thread of the host has left its worker. Stop may go on.
void LeaveWorker(Scheduler &scheduler) noexcept {
    EntryGate::Visit visit(*scheduler.taskScheduler);
    visit.ComeBack();  // Stop waits for this thread
    // release: what the thread did comes before the end of the run
    scheduler.absent.fetch_add(1, kRelease);
    scheduler.hostThreadLeft.Unpark();
    visit.GoOut();  // from here on the scheduler may be gone
}

}  // namespace

void WorkerThread(void *arg) {
    Worker *worker = static_cast<Worker *>(arg);
    race::ThreadBegan(worker);
    // not all systems pass them on to new threads
    SetFloatingPointControl(worker->scheduler->floatingPoint);
    SetUpThread(*worker);
    Work(worker);
}

Taken TakeWorker(TaskScheduler &taskScheduler, uint32_t first, uint32_t end) noexcept {
    EntryGate::Visit visit(taskScheduler);
    Taken taken;
    if (Scheduler *const scheduler = visit.ComeIn(); scheduler != nullptr) {
        taken.isForked = scheduler->forkMark.IsForked();
        taken.workers = scheduler->workerCount;
        if (!taken.isForked && scheduler->options.hostThreads)
            taken.worker = TakeFirst(*scheduler, first, end);
        // relaxed: for a report
        taken.isEnding = scheduler->endWanted.load(kRelaxed);
        taken.isRunning = true;
    }
    visit.GoOut();
    return taken;
}

void HostThread(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    race::ThreadBegan(&worker);
    void *const outer = env::ThreadSlot();  // the thread may run a task of another scheduler
    const uint64_t floatingPoint = FloatingPointControl();
    worker.outerSlot = outer;
    SetFloatingPointControl(scheduler.floatingPoint);
    Work(&worker);
    SetFloatingPointControl(floatingPoint);
    env::SetThreadSlot(outer);
    LeaveWorker(scheduler);
}

void AwaitHostThreads(Scheduler &scheduler, uint32_t first) noexcept {
    // acquire: of each thread that has left, this one sees everything. The read-modify-writes form
    // a release sequence.
    while (scheduler.absent.load(kAcquire) != scheduler.workerCount - first)
        scheduler.hostThreadLeft.Park();
    // The last one may still be about to go out.
    for (Backoff backoff; !EntryGate::NobodyInside(*scheduler.taskScheduler); backoff.Next()) {
    }
}

}  // namespace weft::internal
