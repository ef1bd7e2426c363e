#include "scheduler/idle.h"

#include "platform/compiler.h"
#include "platform/turns.h"
#include "scheduler/any_work.h"
#include "scheduler/foreign.h"
#include "scheduler/gate.h"
#include "scheduler/pinned.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/shared_cpu.h"
#include "scheduler/steal_backoff.h"
#include "scheduler/timing.h"
#include "scheduler/trace.h"

#include <algorithm>
#include <cstdio>

namespace weft::internal {

namespace {

// Finished first, then submitted. Let both sums be equal, and suppose a task were unfinished. It is not among the
// finished; so, the sums being equal, its submission was not among the submitted that were read. Its submitter's end is
// not among the finished either, or reading that (acquire) would have shown the submission. So the submitter is
// unfinished too, and its submission was not read; and so on up to the main task, whose submission is always read.
//
// Foreign threads submit without being tasks. Whoever relies on the sums asks while the gate is closed and nobody is
// inside it, so that their submissions are all read; or can do with "at some moment of my call", as WaitIdle can.
bool NothingPending(const Scheduler &scheduler) noexcept { return PendingTasks(scheduler) == 0; }

// seq_cst: see Sleep.
bool RunIsOver(const Scheduler &scheduler) noexcept {
    return scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) == 0 && NothingPending(scheduler);
}

// `isStill`: whether everybody still sleeps, asked when the waiters have been read.
template <class IsStill>
void ReportWaiters(Scheduler &scheduler, IsStill isStill) noexcept {
    if (WasReported(scheduler, ReportCode::OnlyWaiters)) return;
    char names[384];
    size_t used = 0;
    uint32_t count = 0;
    // If nothing else is pending, who is in WaitIdle goes on as soon as who answers has seen it. relaxed: all have announced since.
    const bool isIdle = PendingTasks(scheduler) == scheduler.idleTasks.load(kRelaxed);
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        const Fiber &fiber = scheduler.fibers[i];
        Counter *counter = fiber.waitsFor.load(kRelaxed);
        if (counter == nullptr || counter == &scheduler.guestsLeft) continue;  // Stop, which waits for threads
        if (isIdle && fiber.waitsForIdle.load(kRelaxed)) continue;
        const char *name = fiber.taskName.load(kRelaxed);
        if (name == nullptr) name = i < scheduler.FiberCount() ? "unnamed task" : "attached thread";
        if (count++ < 4) {
            used += static_cast<size_t>(std::snprintf(names + used, sizeof names - used,
                                                      "%s fiber %u '%.40s' for counter %p", used != 0 ? "," : "", i,
                                                      name, static_cast<void *>(counter)));
        }
    }
    const uint32_t deferred = scheduler.deferred.load(kRelaxed);  // for the report
    if ((count == 0 && deferred == 0) || !isStill()) return;
    char tasks[64] = "";
    if (deferred != 0) {
        std::snprintf(tasks, sizeof tasks, "%s%u submitted to come after a counter",
                      count != 0 ? "; tasks: " : " tasks: ", deferred);
    }
    ReportOnce(scheduler, ReportCode::OnlyWaiters,
               "Lower those counters, or set or unlock what they are in; if a thread of yours will, let it hold an "
               "OutsideWork (weft/outside.h).",
               "all workers sleep and %u %s%s%s%s%s", count, count == 1 ? "fiber waits" : "fibers wait",
               count != 0 ? ":" : ";", count != 0 ? names : "", count > 4 ? ", ..." : "", tasks);
}

// How many workers there are that could sleep. A thread counts itself before it sleeps and after it slept, so whoever
// reads its announcement in the idle state (acquire) and then this, reads that it is attached.
uint32_t Awaited(const Scheduler &scheduler) noexcept { return scheduler.workerCount + scheduler.attached.Value(); }

// Fibers that were made ready and are not running yet, anywhere. A worker that announced may be about to take one.
bool AnyReady(const Scheduler &scheduler) noexcept {
    bool any = !scheduler.injector.IsEmpty() || !scheduler.lowAside.IsEmpty();
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots && !any; ++i) {
        const Worker &worker = scheduler.workers[i];
        any = worker.ready.Size() != 0 || !worker.mailbox.IsEmpty();
    }
    return any;
}

// Everybody sleeps. That is how a scheduler idles while the main task waits for another thread of the process; but it
// may also be for ever, and then it should not be in silence. A worker that has announced may be about to find work; so
// nothing is said while there is any that it could find, or if anybody was awake in between.
void LookForTrouble(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t snapshot = scheduler.idle.Snapshot();
    const auto isTimed = [&] { return scheduler.timers.Next() != Timers::kNever; };
    // A thread inside a call may be about to publish something, and wakes somebody then. Calls are short; but a report may
    // keep one for long, and nobody may be armed for a deadline yet.
    const auto allSleep = [&] {
        for (Turns turns; !isTimed() && !Gate::NobodyInside(*scheduler.facade); turns.Next()) {
            if (scheduler.idle.Snapshot() != snapshot) return false;
        }
        return scheduler.idle.Snapshot() == snapshot && IdleSet::AllAsleep(snapshot, Awaited(scheduler));
    };
    if (!allSleep()) return;
    // Now that all have counted what they finished.
    if (AnswerIdleRequests(scheduler, worker)) return;  // [re-check]
    if (isTimed()) return;  // then somebody goes on; and if that was over meanwhile, somebody was awake for it
    const bool anyReady = AnyReady(scheduler);
    const bool anyTask = AnyTask(scheduler);
    const bool anySmall = scheduler.pool.AnyFree(StackClass::Small);  // a worker that sleeps holds none
    const bool anyBacklog = scheduler.largeBacklog[0].load(kSeqCst) + scheduler.largeBacklog[1].load(kSeqCst) +
                                scheduler.pinnedLarge.load(kSeqCst) !=
                            0;
    const bool anyLarge = scheduler.pool.AnyFree(StackClass::Large);
    // acquire, and before the next look at who sleeps: see OutsideWork::End.
    const bool anyOutside = Gate::FacadeOf(*scheduler.facade).outside.load(kAcquire) != 0;
    if (anyReady || !allSleep()) return;
    if (anyTask || (anyBacklog && anyLarge)) {
        if (anySmall) return;
        ReportOnce(scheduler, ReportCode::PoolEmpty,
                   "Raise SchedulerOptions::smallFibers: each waiting task holds a fiber.",
                   "tasks are pending, nothing is ready, and all %u small fibers wait", scheduler.options.smallFibers);
    } else if (anyBacklog) {
        ReportOnce(scheduler, ReportCode::LargePoolEmpty,
                   "Raise SchedulerOptions::largeFibers, or give those tasks StackClass::Small.",
                   "tasks need a large fiber and all %u large fibers wait", scheduler.options.largeFibers);
    } else if (!anyOutside) {
        ReportWaiters(scheduler, allSleep);
    }
}

// Until there is work, or it is time to sleep.
Found Search(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t begin = env::Ticks();
    IdlePolicy policy = scheduler.options.idle;
    if (policy == IdlePolicy::Balanced && !MaySearch(worker, begin)) policy = IdlePolicy::Quiet;
    for (uint64_t now = begin;; now = env::Ticks()) {
        Found found = FindOwn(worker, ability);
        if (!found && (MaySteal(worker, now) || policy == IdlePolicy::Quiet)) {
            found = FindElsewhere(worker, ability);
        }
        if (found || scheduler.stopping.load(kRelaxed)) return found;
        if (ability != Ability::Tasks && scheduler.pool.AnyFree(StackClass::Small)) return {};
        if (policy == IdlePolicy::Quiet) return {};
        if (now - begin > scheduler.times.idleSearch) return {};
        env::Pause();
    }
}

// What became of a worker that has announced that it will sleep.
enum class Woken : uint8_t { ByOthers /* Unpark was called, or will be */, ByWork };

// An Eager worker only looks as if it slept: it keeps looking at what it would be woken for.
Woken LookInsteadOfSleeping(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    while (scheduler.idle.IsAsleep(worker->index, ability)) {
        if (AnyWork(worker, ability) || scheduler.stopping.load(kRelaxed)) return Woken::ByWork;
        if (ability != Ability::PinnedOnly && scheduler.timers.MayBeDue()) return Woken::ByWork;
        env::Pause();
    }
    return Woken::ByOthers;
}

// Back to searching: nobody else needs to be told unless somebody has woken us.
void GetUp(Worker *worker, Ability ability) noexcept {
    worker->stealAgainAt = worker->lookAgainAt = env::Ticks();  // there is something: no penalty now
    if (!worker->scheduler->idle.Cancel(worker->index, ability)) worker->parker.Park();
}

}  // namespace

uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t finished = 0;
    uint64_t submitted = 0;
    // acquire: pairs with FlushPending, so that what finished tasks submitted is counted below.
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) finished += scheduler.workers[i].finished.load(kAcquire);
    // Again: what a thread that has attached since submitted may be among the finished. What it finished is left out, so the
    // answer may be too large; then that thread asks after it has finished.
    slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.foreignSubmitted.load(kAcquire) - finished;
}

void StopSearching(Worker *worker) noexcept {
    if (!worker->searching) return;
    worker->searching = false;
    if (worker->scheduler->idle.StopSearching()) WakeForAny(*worker->scheduler, worker);
}

bool EndRun(Scheduler &scheduler) noexcept {
    if (!Gate::Close(*scheduler.facade, [&] { return RunIsOver(scheduler); })) return false;
    scheduler.stopping.store(true, kSeqCst);  // before anybody is woken
    return true;
}

Found SearchForTasks(Worker *worker) noexcept {
    if (!worker->searching) worker->scheduler->idle.StartSearching();
    worker->slab.FlushOthers();
    worker->searching = true;
    const Found found = Search(worker, Ability::Tasks);
    if (found) {
        StopSearching(worker);
        worker->lookInterval = 1;
    }
    return found;
}

Found SearchForFibers(Worker *worker) noexcept { return Search(worker, Ability::ReadyFibersOnly); }

void Sleep(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(scheduler.forkMark.IsForked())) {
        ReportFatal(
            scheduler.options, ReportCode::Forked,
            "In a child process call exec or _exit, or make a new TaskScheduler.",
            "a task forked, and went on as a worker in the child process, where the other workers do not exist");
    }
    worker->keepsTasks.store(AnyPinnedTask(worker), kRelaxed);
    scheduler.idle.Announce(worker->index, ability);
    if (AnyWork(worker, ability) || scheduler.stopping.load(kSeqCst)) {
        GetUp(worker, ability);
        return;
    }
    // Both who finished the last task and who ran the main task come by here, each after its own write, and each with the
    // read-modify-write in Announce. The later of the two sees both writes. Guests that leave wake somebody.
    if (RunIsOver(scheduler) && EndRun(scheduler)) {
        WakeAll(scheduler);
    } else if (!AnswerIdleRequests(scheduler, worker) &&
               IdleSet::AllAsleep(scheduler.idle.Snapshot(), Awaited(scheduler))) {
        LookForTrouble(worker);
    }
    if (scheduler.options.idle == IdlePolicy::Eager && LookInsteadOfSleeping(worker, ability) == Woken::ByWork) {
        GetUp(worker, ability);
    } else {
        TraceBetweenTasks(worker, &TraceHooks::park, [](TraceEvent &) {});
        BeforeSleep(worker);
        const bool woken = ParkInTime(worker, ability);
        AfterSleep(worker);
        TraceBetweenTasks(worker, &TraceHooks::unpark, [](TraceEvent &) {});
        if (woken) return;
        GetUp(worker, ability);
        TellDue(scheduler, worker);  // whatever the ticks say: or it sleeps again, until a time that has passed
    }
}

}  // namespace weft::internal
