// Implements sleep.h. The proof that no wake-up is lost is in idle_set.h.
#include "scheduler/wait/sleep.h"

#include "platform/compiler.h"
#include "scheduler/find/any_work.h"
#include "scheduler/find/late_end.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/stall.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/fiber_switch.h"
#include "scheduler/wait/idle_requests.h"

namespace weft::internal {

namespace {

// seq_cst: see Sleep.
bool RunIsOver(const Scheduler &scheduler) noexcept {
    return scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) == 0 &&
           PendingTasks(scheduler) == 0;
}

// How a worker's sleep ended, after its announcement.
enum class Woken : uint8_t { ByOthers /* Unpark was called, or will be */, ByWork };

// A Spin worker announces its sleep, but keeps checking for everything that would wake it.
Woken LookInsteadOfSleeping(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    while (scheduler.idle.IsAsleep(worker->index, mode)) {
        if (AnyWork(worker, mode) || scheduler.stopping.load(kRelaxed)) return Woken::ByWork;
        if (mode != WorkerMode::PinnedOnly && scheduler.timers.MayBeDue()) return Woken::ByWork;
        env::Pause();
    }
    return Woken::ByOthers;
}

// Takes the announcement back, because there is something to do. If a waker has taken the worker's
// bit meanwhile, its Unpark must be consumed.
void GetUp(Worker *worker, WorkerMode mode) noexcept {
    // Lets the worker check other workers at once.
    worker->fromTasks.until = worker->lookAgainAt = env::Ticks();
    // These workers do not search before they sleep. They may take ready fibers of others at once.
    // Otherwise they would announce again and again until they may.
    if (worker->scheduler->options.idle == IdlePolicy::Sleep || IsRestricted(worker))
        worker->fromFibers.until = worker->lookAgainAt;
    if (!worker->scheduler->idle.Cancel(worker->index, mode)) worker->parker.Park();
}

}  // namespace

bool EndRun(Scheduler &scheduler) noexcept {
    if (!EntryGate::Close(*scheduler.taskScheduler, [&] { return RunIsOver(scheduler); }))
        return false;
    scheduler.stopping.store(true, kSeqCst);  // before any worker is woken
    return true;
}

void Sleep(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // a hook has forked; this is the child
    if (WEFT_UNLIKELY(scheduler.forkMark.IsForked())) EndForkedTask(scheduler);
    worker->keepsTasks.store(AnyPinnedTask(worker), kRelaxed);
    // A share of wake-ups that was given earlier is out of date. After Announce a waker may write a
    // new one.
    worker->toWake = 0;
    scheduler.idle.Announce(worker->index, mode);
    if (AnyWork(worker, mode) || scheduler.stopping.load(kSeqCst)) {
        // Another worker may be delayed between hiding the notice and taking the items.
        if (!scheduler.injector.IsEmpty()) scheduler.notices.Show(Notices::kInjected);
        GetUp(worker, mode);
        return;
    }
    // The worker that finished the last task comes here, and so does the worker that ran the main
    // task: each after its own write, and each with the read-modify-write in Announce. The later of
    // the two sees both writes. A guest that leaves wakes a worker.
    if (RunIsOver(scheduler) && EndRun(scheduler)) {
        WakeAll(scheduler, worker);
    } else if (!AnswerIdleRequests(scheduler, worker) && AllAsleep(scheduler)) {
        ReportIfLate(scheduler, worker);
        WatchForStall(worker);
        if (WEFT_UNLIKELY(scheduler.order.isGivenUp))
            return SwitchTo(worker->current, scheduler.order.host, Destination::None);
    }
    if (scheduler.options.idle == IdlePolicy::Spin && mode != WorkerMode::OwnTasks &&
        LookInsteadOfSleeping(worker, mode) == Woken::ByWork) {
        GetUp(worker, mode);
    } else {
        AddTo(worker->sleeps, 1);
        Emit(scheduler, worker, TraceKind::Park);
        const bool woken = ParkInTime(worker, mode);
        Emit(scheduler, worker, TraceKind::Unpark);
        if (woken) return;
        GetUp(worker, mode);
        // Checks the clock, not the ticks. Otherwise the worker could sleep again until a time that
        // has passed.
        TellDue(scheduler, worker);
    }
}

}  // namespace weft::internal
