#include "scheduler/wait/sleep.h"

#include "platform/compiler.h"
#include "scheduler/find/any_work.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/stall.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/idle_requests.h"

namespace weft::internal {

namespace {

// Finished first, then submitted. Let both sums be equal, and suppose a task were unfinished. It is
// not among the finished; so, the sums being equal, its submission was not among the submitted that
// were read. Its submitter's end is not among the finished either, or reading that (acquire) would
// have shown the submission. So the submitter is unfinished too, and its submission was not read;
// and so on up to the main task, whose submission is always read.
//
// External threads submit without being tasks. Whoever relies on the sums asks while the gate is
// closed and nobody is inside it, so that their submissions are all read; or can do with "at some
// moment of my call", as WaitIdle can.
bool NothingPending(const Scheduler &scheduler) noexcept { return PendingTasks(scheduler) == 0; }

// seq_cst: see Sleep.
bool RunIsOver(const Scheduler &scheduler) noexcept {
    return scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) == 0 &&
           NothingPending(scheduler);
}

// What became of a worker that has announced that it will sleep.
enum class Woken : uint8_t { ByOthers /* Unpark was called, or will be */, ByWork };

// A Spin worker only looks as if it slept: it keeps looking at what it would be woken for.
Woken LookInsteadOfSleeping(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    while (scheduler.idle.IsAsleep(worker->index, mode)) {
        if (AnyWork(worker, mode) || scheduler.stopping.load(kRelaxed)) return Woken::ByWork;
        if (mode != WorkerMode::PinnedOnly && scheduler.timers.MayBeDue()) return Woken::ByWork;
        env::Pause();
    }
    return Woken::ByOthers;
}

// Back to searching: nobody else needs to be told unless somebody has woken us.
void GetUp(Worker *worker, WorkerMode mode) noexcept {
    // there is something: no penalty now
    worker->fromTasks.until = worker->lookAgainAt = env::Ticks();
    // These do not search in between: they would announce again and again until they may take a
    // ready fiber.
    if (worker->scheduler->options.idle == IdlePolicy::Sleep || IsRestricted(worker))
        worker->fromFibers.until = worker->lookAgainAt;
    if (!worker->scheduler->idle.Cancel(worker->index, mode)) worker->parker.Park();
}

}  // namespace

void WantEnd(Scheduler &scheduler) noexcept {
    const uint64_t grace = uint64_t{scheduler.options.stopGraceMilliseconds} * 1'000'000;
    scheduler.closesAt.store(env::Now() + grace, kRelaxed);  // published by the next
    scheduler.endWanted.store(true, kSeqCst);                // see Sleep
}

bool EndRun(Scheduler &scheduler) noexcept {
    if (!EntryGate::Close(*scheduler.taskScheduler, [&] { return RunIsOver(scheduler); }))
        return false;
    scheduler.stopping.store(true, kSeqCst);  // before anybody is woken
    return true;
}

void Sleep(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(scheduler.forkMark.IsForked())) EndForkedTask(scheduler);  // in a hook
    worker->keepsTasks.store(AnyPinnedTask(worker), kRelaxed);
    // a share that was given earlier is out of date. From here on it is the next waker's
    worker->toWake = 0;
    scheduler.idle.Announce(worker->index, mode);
    if (AnyWork(worker, mode) || scheduler.stopping.load(kSeqCst)) {
        // Another worker may be held up between hiding the notice and taking what has come.
        if (!scheduler.injector.IsEmpty()) scheduler.notices.Show(Notices::kInjected);
        GetUp(worker, mode);
        return;
    }
    // Both who finished the last task and who ran the main task come by here, each after its own
    // write, and each with the read-modify-write in Announce. The later of the two sees both
    // writes. Guests that leave wake somebody.
    if (RunIsOver(scheduler) && EndRun(scheduler)) {
        WakeAll(scheduler);
    } else if (!AnswerIdleRequests(scheduler, worker) &&
               (AllAsleep(scheduler) || scheduler.endWanted.load(kSeqCst))) {
        // An attached thread that is busy outside of weft is not asleep, and may delay the end.
        WatchForStall(worker);
    }
    if (scheduler.options.idle == IdlePolicy::Spin && mode != WorkerMode::OwnTasks &&
        LookInsteadOfSleeping(worker, mode) == Woken::ByWork) {
        GetUp(worker, mode);
    } else {
        TraceBetweenTasks(worker, &TraceHooks::park, [](TraceEvent &) {});
        const bool woken = ParkInTime(worker, mode);
        TraceBetweenTasks(worker, &TraceHooks::unpark, [](TraceEvent &) {});
        if (woken) return;
        GetUp(worker, mode);
        // whatever the ticks say: or it sleeps again, until a time that has passed
        TellDue(scheduler, worker);
    }
}

}  // namespace weft::internal
