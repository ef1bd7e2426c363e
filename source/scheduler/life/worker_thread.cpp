// The threads of workers.
#include "scheduler/life/life.h"

#include "platform/floating_point.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/run/run.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"

#include <utility>

namespace weft::internal {

namespace {

// Threads that begin on one CPU may stay there for up to 10 ms. With Run, worker 0 is the caller.
void Place(const Worker &worker) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    const Affinity &affinity = scheduler.options.affinity;
    const uint64_t *cpus = scheduler.groups[worker.group].cpus;
    uint32_t words = scheduler.groups[worker.group].cpuWords;
    if (cpus == nullptr && affinity.kind == Affinity::Kind::Explicit) {
        words = affinity.maskWords;
        cpus = affinity.masks + worker.index * words;
    }
    if (cpus == nullptr && affinity.kind == Affinity::Kind::None) {
        env::UnbindThread();  // the thread that started the scheduler may be bound
        const bool isRun = scheduler.main.function != nullptr;
        return env::MoveBehindCpu(scheduler.threads.startCpu, worker.index + (isRun ? 0 : 1));
    }
    if (cpus != nullptr ? env::BindThread(cpus, words) : env::BindThreadToNth(worker.index)) return;
    ReportMistake(scheduler.options, ReportCode::BadOption,
                  "Give masks with a CPU that the system grants to this process.",
                  "SchedulerOptions::affinity, WorkerGroup::cpus: none of the CPUs for worker %u "
                  "may be used",
                  worker.index);
}

// Names and places the calling thread. If the system refuses something, reports that and continues
// without it.
void SetUpThread(const Worker &worker) noexcept {
    const SchedulerOptions &options = worker.scheduler->options;
    const WorkerGroup &group = worker.scheduler->groups[worker.group];
    const char *const name = group.name != nullptr ? group.name : options.threadName;
    if (name != nullptr) env::NameThread(name, worker.index);
    const int nice = static_cast<int>(options.threadNice + group.nice);
    if (nice != 0 && !env::AddNice(nice))
        ReportMistake(
            options, ReportCode::BadOption, "Give values that this user may set.",
            "SchedulerOptions::threadNice, WorkerGroup::nice: the system refused %d for worker %u",
            nice, worker.index);
    env::SetPreciseSleep();
    if (options.threadSliceMicroseconds != 0) env::SetSlice(options.threadSliceMicroseconds);
    Place(worker);
}

// The calling thread becomes the worker.
void Enter(Worker &worker) noexcept {
    worker.thread.worker = &worker;
    worker.thread.context.Adopt();
    worker.current = &worker.thread;
    env::SetThreadSlot(&worker);
}

// Calls a hook on the worker's thread. Calls that a hook must not make are noticed.
void CallThreadHook(Worker &worker, void (*hook)(uint32_t, void *)) noexcept {
    if (hook == nullptr) return;
    Enter(worker);
    worker.inHook = true;
    worker.SetMustNotSubmit(true);
    hook(worker.index, worker.scheduler->options.threads.user);
    worker.inHook = false;
    worker.SetMustNotSubmit(false);
    env::SetThreadSlot(worker.outerSlot);
}

// onStart may have set the control words.
void Begin(Worker &worker) noexcept {
    CallThreadHook(worker, worker.scheduler->options.threads.onStart);
    worker.floatingPoint = FloatingPointControl();
}

void RunToTheEnd(Worker &worker) noexcept {
    Begin(worker);
    ThreadMain(worker);
    CallThreadHook(worker, worker.scheduler->options.threads.onStop);
}

// Takes the worker if it is absent. The first thread gets it. release and acquire: a thread that
// comes after Stop sees that the run is ending.
bool TakeIfAbsent(Worker &worker) noexcept {
    if (worker.hasThread.exchange(true, kAcqRel)) return false;
    worker.rest.kind.store(Rest::kNone, kRelaxed);
    worker.scheduler->absent.fetch_sub(1, kSeqCst);
    return true;
}

// Runs the worker that the calling thread of the host has taken.
void HostThread(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    race::ThreadBegan(&worker);
    const uint64_t floatingPoint = FloatingPointControl();
    worker.outerSlot = env::ThreadSlot();  // the thread may run a task of another scheduler
    SetFloatingPointControl(scheduler.threads.floatingPoint);
    RunToTheEnd(worker);
    SetFloatingPointControl(floatingPoint);
    EntryGate::Visit visit(*scheduler.taskScheduler);
    visit.ComeBack();  // Stop waits for this thread
    // release: what the thread did comes before the end of the run
    scheduler.absent.fetch_add(1, kRelease);
    scheduler.hostThreadLeft.Unpark();
    visit.GoOut();  // from here on the scheduler may be gone
}

}  // namespace

void ThreadMain(Worker &worker) noexcept {
    Enter(worker);
    worker.rest.kind.store(Rest::kNone, kRelaxed);
    if (worker.scheduler->handlesFaults) worker.signalStack.Set();
    if (Fiber *const first = std::exchange(worker.comesNext, nullptr)) {  // of Run's main task
        StartClock(worker);
        SwitchTo(worker.thread, *first, Destination::None);
    }
    ThreadLoop(worker);
    worker.signalStack.Reset();
    worker.rest.kind.store(Rest::kAway, kRelaxed);
    env::SetThreadSlot(worker.outerSlot);
}

void WorkerThread(void *arg) {
    Worker &worker = *static_cast<Worker *>(arg);
    race::ThreadBegan(&worker);
    // not all systems pass them on to new threads
    SetFloatingPointControl(worker.scheduler->threads.floatingPoint);
    SetUpThread(worker);
    worker.signalStack.Set();
    RunToTheEnd(worker);
}

Taken RunAbsentWorker(TaskScheduler &taskScheduler, uint32_t index) noexcept {
    EntryGate::Visit visit(taskScheduler);
    Taken taken;
    if (Scheduler *const scheduler = visit.ComeIn(); scheduler != nullptr) {
        taken.isForked = scheduler->forkMark.IsForked();
        taken.workers = scheduler->workerCount;
        if (!taken.isForked && scheduler->options.hostThreads && index < taken.workers &&
            TakeIfAbsent(scheduler->workers[index]))
            taken.worker = &scheduler->workers[index];
        // relaxed: for a report
        taken.isEnding = scheduler->endWanted.load(kRelaxed);
        taken.isRunning = true;
    }
    visit.GoOut();
    if (taken.worker != nullptr) HostThread(*taken.worker);
    return taken;
}

// A worker that finds nothing leaves the thread to the next one (Worker::leaves).
void RunAbsentWorkers(Scheduler &scheduler) noexcept {
    const uint64_t floatingPoint = FloatingPointControl();
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        Worker &worker = scheduler.workers[i];
        if (!TakeIfAbsent(worker)) continue;
        SetFloatingPointControl(scheduler.threads.floatingPoint);
        worker.outerSlot = env::ThreadSlot();
        worker.leaves = true;
        race::ThreadBegan(&worker);
        Begin(worker);
    }
    while (!scheduler.stopping.load(kSeqCst)) {
        for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
            if (scheduler.workers[i].leaves) ThreadMain(scheduler.workers[i]);
        }
        WatchForStall(scheduler);
        if (!AnswerIdleRequests(scheduler, nullptr) && !EndRun(scheduler, nullptr))
            env::NapThread();
    }
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        if (!scheduler.workers[i].leaves) continue;
        CallThreadHook(scheduler.workers[i], scheduler.options.threads.onStop);
        scheduler.absent.fetch_add(1, kRelaxed);  // relaxed: for this thread
    }
    SetFloatingPointControl(floatingPoint);
}

}  // namespace weft::internal
