// Finds stalls and reports them: nothing can continue without the host, or no task can begin
// because all fibers belong to tasks that wait. A stall is reported once a run, when it has lasted
// for SchedulerOptions::stallMilliseconds. A shorter pause may be harmless: a thread may be about
// to lower a counter.
//
// A worker looks for a stall when it is about to park, when it blocks its thread, and while it
// polls because it has no fiber or never sleeps. If all others are idle, too, it takes note of the
// time, parks until the stall would be old enough, and looks again. If any worker has run something
// meanwhile (Progress), the time begins anew; the last one to become idle again looks again. So
// nobody looks while a task runs, and no timer is set.
//
// The last one is not missed. A worker that becomes idle writes that down (i1, of Rest), and then
// looks at all others (i2). All are seq_cst. So of two workers, the one whose i1 is later sees the
// other's i1 in its i2. Workers that poll look again and again. Two events leave nobody who becomes
// idle: a thread outside submits tasks that wait, or an attached thread leaves. They wake a sleeper
// (LetOneLook).
//
// Work in the hands of a worker. A worker that polls counts as idle while it looks again, and the
// system may keep it from running when it has just taken something. So rounds come before each
// judgement: in a round, each worker that polls begins and ends a look. A look ends when the worker
// has found nothing, or had no fiber for each piece of work that it found (Rest::answered). One
// round would not be enough, because work goes from hand to hand: a worker takes a timer and
// injects its tasks, another one takes these to its deque, a third one steals them. If tasks are
// passed on for want of a fiber, that moves the sum of Rest::refused in each round.
//
// A thread of the host that is in a call is about to do something, as one that holds an
// ExternalWork. While there is one, the time does not begin.
//
// Deadlines. A task that waits for a deadline will continue by itself, and may then end all other
// waits. So while there is one, only a cycle of waits is reported, which no task of it can leave.
#include "scheduler/diagnose/wait_text.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/deferred.h"

#include <algorithm>

namespace weft::internal {

namespace {

// A sleeper that was taken is about to run.
bool IsIdle(const Scheduler &scheduler, const Worker &worker) noexcept {
    const Rest::Kind kind = worker.rest.kind.load(kSeqCst);
    if (kind == Rest::kSleeps) return scheduler.idle.IsAsleep(worker.index);
    if (kind != Rest::kNone) return true;
    const ThreadWaiter *const waiter = worker.rest.blockedOn.load(kSeqCst);
    return waiter != nullptr && !waiter->isTold.load(kRelaxed);
}

template <class Number>
uint64_t Sum(const Scheduler &scheduler, Number number) noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < scheduler.Slots(); ++i) sum += number(scheduler.workers[i]);
    return sum;
}

// Returns a number that changes when a fiber runs: it then finishes a task, submits one, or is
// suspended again.
uint64_t Progress(const Scheduler &scheduler) noexcept {
    return scheduler.submittedOutside.load(kRelaxed) + Sum(scheduler, [](const Worker &worker) {
               return worker.submitted.load(kRelaxed) + worker.ended.load(kRelaxed) +
                      worker.figures.suspensions.load(kRelaxed);
           });
}

uint64_t Refused(const Scheduler &scheduler) noexcept {
    return Sum(scheduler, [](const Worker &worker) { return worker.rest.refused.load(kRelaxed); });
}

bool AnyFree(const Scheduler &scheduler) noexcept {
    return scheduler.free.Any(scheduler.Slots(), [&](uint32_t i) -> const FreeFibers::Slot & {
        return scheduler.workers[i].spareFiber;
    });
}

// Returns true if each fiber of the pool belongs to a task that waits, and none may continue.
bool AllWait(const Scheduler &scheduler) noexcept {
    bool all = true;
    for (uint32_t i = 0; i < scheduler.fiberCount && all; ++i)
        all = scheduler.fibers[i].wait.counter.load(kRelaxed) != nullptr;
    return all;
}

// Returns true if something waits for a deadline that comes, apart from the end of the run.
bool AnyDeadline(Scheduler &scheduler) noexcept {
    bool any = false;
    if (scheduler.timers.Next() != Timers::kNever)
        scheduler.timers.ForEach(
            [&](const Timer &timer) { any = any || &timer != &scheduler.lateEnd.timer; });
    return any;
}

void ReportWaiters(Scheduler &scheduler, bool isQueued, bool anyDeadline) noexcept {
    if (WasReported(scheduler, ReportCode::Stalled)) return;
    const bool isLeft = isQueued && !anyDeadline;  // nobody takes it
    const WaitGraph graph(scheduler, true);
    const uint32_t count = CountBlocked(graph), deferred = CountDeferred(scheduler, false);
    if (graph.IsComplete() && (count == 0 || (anyDeadline && !graph.HasCycle())) &&
        (deferred == 0 || anyDeadline) && !isLeft)
        return;
    ReportText text(scheduler.memory, graph);
    text.Add("all workers sleep and %u %s%s", count, count == 1 ? "fiber waits" : "fibers wait",
             count != 0 ? ": " : "");
    AddWaiters(text, scheduler, graph);
    if (deferred != 0) text.Add("; tasks: %u submitted to come after a counter", deferred);
    if (isLeft) text.Add("; tasks or fibers are queued, and no worker may run them");
    ReportTextOnce(scheduler, ReportCode::Stalled,
                   isLeft ? "Restrict a wait with Meanwhile only if another worker can run what it "
                            "waits for; OwnTasks finds tasks only by their counters."
                          : "Lower those counters, or set or unlock the objects that they belong "
                            "to; if an external thread will do that, let it hold an ExternalWork "
                            "(weft/external_work.h).",
                   text.Get());
}

void ReportPoolEmpty(Scheduler &scheduler) noexcept {
    ReportOnce(scheduler, ReportCode::OutOfFibers,
               "Raise SchedulerOptions::fibers: each waiting task holds a fiber.",
               "tasks are pending, and all %u fibers wait", scheduler.fiberCount);
}

// Returns true if each worker that polls has ended a look that began in this round, and has found
// nothing. acquire: see Rest::Answer.
bool HaveAnswered(const Scheduler &scheduler, uint32_t round) noexcept {
    return Sum(scheduler, [&](const Worker &worker) {
               return worker.rest.kind.load(kSeqCst) == Rest::kLooks
                          ? worker.rest.answered.load(kAcquire) != round
                          : !IsIdle(scheduler, worker);
           }) == 0;
}

// Returns true after enough rounds. What was seen before them then holds after them, too. A worker
// may take something right afterwards. The caller holds the lock of `watch`.
bool EndRounds(Scheduler &scheduler, StallWatch &watch) noexcept {
    constexpr uint32_t kRounds = 3;
    StallWatch::Seen &seen = watch.seen;
    // relaxed: under the lock. release: see Rest::Answer.
    const auto begin = [&] { watch.round.store(watch.round.load(kRelaxed) + 1, kRelease); };
    if (watch.roundsLeft == 0) {
        seen = {scheduler.timers.Next(), Refused(scheduler), AnyDeadline(scheduler),
                AnyQueued(scheduler, false)};
        watch.roundsLeft = kRounds;
        begin();
    }
    for (; watch.roundsLeft != 0 && HaveAnswered(scheduler, watch.round.load(kRelaxed));
         --watch.roundsLeft)
        begin();
    seen.passesOn = Refused(scheduler) != seen.refused;
    const bool holds = seen.next == scheduler.timers.Next() &&
                       (seen.passesOn || seen.isQueued == AnyQueued(scheduler, false));
    const bool isOver = watch.roundsLeft == 0 && holds;
    if (!holds) watch.roundsLeft = 0;
    return isOver;
}

// Nothing has run for long enough. Returns false if workers pass tasks on, but not all fibers wait.
bool Judge(Scheduler &scheduler, const StallWatch::Seen &seen) noexcept {
    if (!seen.passesOn) return ReportWaiters(scheduler, seen.isQueued, seen.anyDeadline), true;
    const bool isEmpty = !AnyFree(scheduler) && AllWait(scheduler);
    if (isEmpty) ReportPoolEmpty(scheduler);
    return isEmpty;
}

}  // namespace

bool AllIdle(const Scheduler &scheduler) noexcept {
    bool all = true;
    for (uint32_t i = 0; i < scheduler.Slots() && all; ++i)
        all = IsIdle(scheduler, scheduler.workers[i]);
    return all;
}

bool IsFree(const Scheduler &scheduler, uint32_t fiber) noexcept {
    bool isFree = scheduler.free.Has(fiber);
    for (uint32_t i = 0; i < scheduler.Slots() && !isFree; ++i)
        isFree = scheduler.workers[i].spareFiber.load(kRelaxed) == fiber;
    return isFree;
}

bool AnyQueued(const Scheduler &scheduler, bool ofAbsent) noexcept {
    bool any = !scheduler.injector.IsEmpty() || scheduler.AnyBehind();
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots && !any; ++i) {
        const Worker &worker = scheduler.workers[i];
        any =
            (ofAbsent || worker.rest.kind.load(kRelaxed) != Rest::kAway) && !worker.inbox.IsEmpty();
        for (const auto &queue : worker.queue)
            any = any || (queue.IsAcquired() && queue.Size() != 0);
    }
    return any;
}

void LetOneLook(Scheduler &scheduler) noexcept {
    const uint64_t lasts = uint64_t{scheduler.options.stallMilliseconds} * 1'000'000;
    if (AllIdle(scheduler) && scheduler.keeperUntil.load(kSeqCst) > env::Now() + lasts)
        WakeOne(scheduler, nullptr, kAnyKeeper);
}

void TellStall(Scheduler &scheduler) noexcept {
    ReportWaiters(scheduler, AnyQueued(scheduler, false), AnyDeadline(scheduler));
}

uint64_t WatchForStall(Scheduler &scheduler) noexcept {
    if (!AllIdle(scheduler)) return Timers::kNever;
    ReportIfLate(scheduler);
    if (PendingTasks(scheduler) == 0 && scheduler.attached.IsZero()) return Timers::kNever;
    StallWatch &watch = scheduler.stall;
    const uint64_t lasts = uint64_t{scheduler.options.stallMilliseconds} * 1'000'000;
    // acquire: this thread sees what the external work did before it ended
    const bool isOutside =
        EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kAcquire) != 0 ||
        !EntryGate::NobodyInside(*scheduler.taskScheduler);
    StallWatch::Seen seen;
    {
        const SpinLock::Held held(watch.lock);
        const uint64_t now = env::Now(), progress = Progress(scheduler);
        if (watch.progress != progress || isOutside) {
            watch.progress = progress;
            watch.since = now;
            watch.isJudged = false;
            watch.roundsLeft = 0;
        }
        if (watch.isJudged) return Timers::kNever;
        if (now - watch.since < lasts) return watch.since + lasts;
        if (!EndRounds(scheduler, watch)) return now + 1'000'000;
        watch.isJudged = true;
        seen = watch.seen;
    }
    if (Judge(scheduler, seen)) return Timers::kNever;
    const SpinLock::Held held(watch.lock);
    watch.isJudged = false;
    return env::Now() + 1'000'000;
}

}  // namespace weft::internal
