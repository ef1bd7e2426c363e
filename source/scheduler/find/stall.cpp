// Implements the checks and the reports of stall.h.
#include "scheduler/find/stall.h"

#include "scheduler/find/any_work.h"
#include "scheduler/find/ordered.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/wait_text.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/timing.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Returns a number that changes when a fiber runs: it then finishes a task, submits one, or is
// suspended again. relaxed: all workers have announced since, or this is read once more before a
// report.
uint64_t Progress(const Scheduler &scheduler) noexcept {
    uint64_t sum = scheduler.externalSubmitted.load(kRelaxed);
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        sum += worker.submitted.load(kRelaxed) + worker.finished.load(kRelaxed) +
               worker.suspensions.load(kRelaxed);
    }
    return sum;
}

// Returns true if a fiber is ready and does not run yet. A worker that has announced may be about
// to take one.
bool AnyReady(const Scheduler &scheduler) noexcept {
    bool any = !scheduler.injector.IsEmpty();
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots && !any; ++i) {
        const Worker &worker = scheduler.workers[i];
        any = !worker.inbox.IsEmpty();
        for (uint32_t level = 0; level < scheduler.Levels(); ++level)
            any = any || worker.ready[level].Size() != 0;
    }
    return any;
}

// Returns true if a wait keeps some worker from some or all tasks (Meanwhile). relaxed: all have
// announced that they sleep.
bool AnyRestricted(const Scheduler &scheduler) noexcept {
    bool any = false;
    for (uint32_t i = 0; i < scheduler.Slots() && !any; ++i)
        any = scheduler.workers[i].restricted.load(kRelaxed);
    return any;
}

// Returns true if something waits. A pending task that lies in no queue belongs to a fiber that
// waits, or waits for a counter itself. So the fibers of the pool need not be checked one by one.
// relaxed, all: for reports.
bool AnyWaiter(const Scheduler &scheduler) noexcept {
    // If only tasks in WaitIdle are pending, these continue as soon as a worker notices it.
    if (PendingTasks(scheduler) != scheduler.idleTasks.load(kRelaxed)) return true;
    for (uint32_t i = scheduler.FiberCount(); i < scheduler.AllFibers(); ++i) {
        const Fiber &fiber = scheduler.fibers[i];
        const Counter *counter = fiber.waitsFor.load(kRelaxed);
        // guestsLeft: a Stop without workers waits for external threads
        if (counter != nullptr && counter != &scheduler.guestsLeft &&
            !fiber.waitsForIdle.load(kRelaxed))
            return true;
    }
    return false;
}

// Returns the code with which a stall of this kind is reported.
ReportCode CodeOf(Stall stall) noexcept {
    return stall == Stall::Small   ? ReportCode::OutOfSmallFibers
           : stall == Stall::Large ? ReportCode::OutOfLargeFibers
                                   : ReportCode::Stalled;
}

// Returns the kind of stall. None if a deadline comes by `until`. The timer for a late end of the
// run ends no wait.
Stall KindOf(Scheduler &scheduler, uint64_t until) noexcept {
    uint64_t next = scheduler.timers.Next();
    if (next != Timers::kNever && scheduler.timers.IsOnly(scheduler.lateEnd.timer))
        next = Timers::kNever;
    if (next != Timers::kNever && next <= until) return Stall::None;
    // acquire: this thread sees below what the external work did before it ended.
    if (EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kAcquire) != 0)
        return Stall::None;
    // A worker is about to take it, unless restricted waits keep all workers from that.
    const Stall untilTaken = AnyRestricted(scheduler) ? Stall::Waiters : Stall::None;
    if (AnyReady(scheduler)) return untilTaken;
    const bool anyLargeTask = AnyLargeTask(scheduler) || scheduler.pinnedLarge.load(kSeqCst) != 0;
    if (AnyTask(scheduler) || (anyLargeTask && scheduler.pool.AnyFree(StackClass::Large))) {
        if (!scheduler.pool.AnyFree(StackClass::Small)) return Stall::Small;
        return untilTaken;
    }
    if (anyLargeTask) return Stall::Large;
    return next == Timers::kNever && AnyWaiter(scheduler) ? Stall::Waiters : Stall::None;
}

// Reports the waiting fibers, and the number of deferred tasks.
void ReportWaiters(Scheduler &scheduler) noexcept {
    const WaitGraph graph(scheduler, true);
    const uint32_t count = CountBlocked(graph);
    const uint32_t deferred = scheduler.deferred.load(kRelaxed);
    if (graph.IsComplete() && count == 0 && deferred == 0) return;
    ReportText text(scheduler.memory, graph);
    text.Add("all workers sleep and %u %s%s", count, count == 1 ? "fiber waits" : "fibers wait",
             count != 0 ? ": " : "");
    AddWaiters(text, scheduler, graph);
    if (deferred != 0) text.Add("; tasks: %u submitted to come after a counter", deferred);
    ReportTextOnce(scheduler, ReportCode::Stalled,
                   AnyRestricted(scheduler) ? "Restrict a wait with Meanwhile only if another "
                                              "worker can run what it waits for; OwnTasks finds "
                                              "tasks only by their counters."
                                            : "Lower those counters, or set or unlock the objects "
                                              "that they belong to; if an external thread will do "
                                              "that, let it hold an ExternalWork "
                                              "(weft/external_work.h).",
                   text.Get());
}

// Reports that all fibers of the class wait.
void ReportPoolEmpty(Scheduler &scheduler, StackClass stack) noexcept {
    // external work may end the wait
    if (EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kAcquire) != 0) return;
    if (stack == StackClass::Small) {
        ReportOnce(scheduler, ReportCode::OutOfSmallFibers,
                   "Raise SchedulerOptions::smallFibers: each waiting task holds a fiber.",
                   "small tasks are pending, and all %u small fibers wait",
                   scheduler.options.smallFibers);
    } else {
        ReportOnce(scheduler, ReportCode::OutOfLargeFibers,
                   "Raise SchedulerOptions::largeFibers, or give those tasks StackClass::Small.",
                   "tasks need a large fiber and all %u large fibers wait",
                   scheduler.options.largeFibers);
    }
}

// Returns true if every fiber of the class belongs to a task that waits or is ready. Checks all of
// them.
bool AllWait(const Scheduler &scheduler, StackClass stack) noexcept {
    const bool small = stack == StackClass::Small;
    const uint32_t first = small ? 0 : scheduler.options.smallFibers;
    const uint32_t end = small ? scheduler.options.smallFibers : scheduler.FiberCount();
    for (uint32_t i = first; i < end; ++i) {
        if (scheduler.fibers[i].waitsFor.load(kRelaxed) == nullptr) return false;  // for a report
    }
    return true;
}

// A late lane is reported only after so many inspections in a row.
constexpr uint32_t kStuckLooks = 16;

// Reports a stall of this kind.
void Tell(Scheduler &scheduler, Stall stall) noexcept {
    if (stall == Stall::Waiters) return ReportWaiters(scheduler);
    ReportPoolEmpty(scheduler, stall == Stall::Small ? StackClass::Small : StackClass::Large);
}

// One check for a stall. Reports the stall if it has lasted long enough, else sets the timer for
// the next check.
void Watch(Scheduler &scheduler, Worker *worker) noexcept {
    StallWatch &watch = scheduler.stall;
    const uint64_t lasts = uint64_t{scheduler.options.stallMilliseconds} * 1'000'000;
    const uint64_t now = env::Now();
    // relaxed, all of the state of `watch`: the timer's lock orders it.
    const bool isSame =
        watch.isDue.exchange(false, kRelaxed) && watch.progress == Progress(scheduler);
    const uint64_t since = isSame ? watch.since : now;
    const Stall stall = KindOf(scheduler, since + lasts);
    if (stall == Stall::None || WasReported(scheduler, CodeOf(stall))) return;
    if (now - since >= lasts && stall == watch.kind) return Tell(scheduler, stall);
    watch.since = stall == watch.kind ? since : now;
    watch.kind = stall;
    watch.progress = Progress(scheduler);
    watch.isSet.store(true, kRelaxed);
    const auto isDue = [](void *, void *owner) {
        StallWatch &its = *static_cast<StallWatch *>(owner);
        its.isDue.store(true, kRelaxed);
        its.isSet.store(false, kRelease);
    };
    SetTimer(scheduler, worker, watch.timer, std::min(now + lasts / 4, watch.since + lasts),
             {isDue, &watch});
}

}  // namespace

// An attached thread increments `attached` before it announces its sleep, and decrements it after
// it has slept. So a worker that reads the announcement in the idle state (acquire), and then
// `attached`, counts that thread.
bool AllAsleep(const Scheduler &scheduler) noexcept {
    const uint64_t snapshot = scheduler.idle.Snapshot();
    // seq_cst: a thread takes its worker, too, before it announces that it sleeps
    const uint32_t workers = scheduler.workerCount - scheduler.absent.load(kSeqCst);
    return IdleSet::AllAsleep(snapshot, workers + scheduler.attached.Value());
}

namespace {

// With an order, a stall is known at once: the only thread that runs tasks has nothing to run, and
// no deadline can fall due.
void WatchOrdered(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool isOutside = EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kAcquire) != 0;
    // At the end of the run, Stop waits for threads that are in a call.
    const bool isEnding = scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) > 1;
    if (isOutside || isEnding || scheduler.timers.Next() != Timers::kNever) return;
    const Stall stall = KindOf(scheduler, 0);
    if (scheduler.order.tells) Tell(scheduler, stall == Stall::None ? Stall::Waiters : stall);
    GiveUp(worker, "ends in a stall");
}

}  // namespace

void WatchForStall(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(scheduler.order.isOn)) return WatchOrdered(worker);
    StallWatch &watch = scheduler.stall;
    // acquire and release: only one worker checks at a time. If others called meanwhile, it checks
    // again for them, because the state may have changed.
    if (watch.isSet.load(kAcquire) || watch.callers.fetch_add(1, kAcqRel) != 0) return;
    for (uint32_t served = 1; served != 0;) {
        if (!watch.isSet.load(kRelaxed) && AllAsleep(scheduler))
            Watch(scheduler, worker);  // relaxed: the timer causes another check
        served = watch.callers.fetch_sub(served, kAcqRel) - served;
    }
}

// Counts the inspections as well as the time: if the system keeps a thread from running, the time
// passes without any inspection.
void WatchLateLane(const Worker *worker, QueueAge &age, StackClass stack) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool isStuck = !scheduler.pool.AnyFree(stack) && AllWait(scheduler, stack) &&
                         !AnyReady(scheduler) && IsRescueDone(worker, stack);
    // relaxed, all: hints, see QueueAge.
    if (!isStuck) return age.stuckLooks.store(0, kRelaxed);
    const uint32_t looks = age.stuckLooks.load(kRelaxed);
    const uint64_t now = env::Ticks();
    if (looks == 0) age.stuckSince.store(now, kRelaxed);
    age.stuckLooks.store(looks + 1, kRelaxed);
    if (looks >= kStuckLooks && now - age.stuckSince.load(kRelaxed) >= scheduler.tuning.stall)
        ReportPoolEmpty(scheduler, stack);
}

}  // namespace weft::internal
