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
//
// The watchdog. If a task never ends, or blocks its thread for long, its worker does not become
// idle, and nobody looks for a stall. So a thread looks, four times in watchdogMilliseconds. It
// reports, once a run, if for that time no task has finished, tasks are pending, and at each look
// some worker or attached thread was not idle.
#include "scheduler/diagnose/wait_graph.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/deferred.h"

#include <algorithm>
#include <iterator>

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

template <class Condition>
bool AllOf(const Scheduler &scheduler, Condition condition) noexcept {
    return std::all_of(scheduler.workers, scheduler.workers + scheduler.Slots(), condition);
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

// relaxed: if a finished task is seen late, the time without one seems longer by that delay. That
// is far shorter than the watchdog's milliseconds.
uint64_t CountFinished(const Scheduler &scheduler) noexcept {
    return Sum(scheduler, [](const Worker &worker) {
        return worker.ended.load(kRelaxed) + worker.figures.inlineRuns.load(kRelaxed);
    });
}

uint64_t Refused(const Scheduler &scheduler) noexcept {
    return Sum(scheduler, [](const Worker &worker) { return worker.rest.refused.load(kRelaxed); });
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
    ReportText text(scheduler.memory, graph.Count());
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

// Returns true if each worker that polls has ended a look that began in this round, and has found
// nothing. acquire: see Rest::Answer.
bool HaveAnswered(const Scheduler &scheduler, uint32_t round) noexcept {
    return AllOf(scheduler, [&](const Worker &worker) {
        return worker.rest.kind.load(kSeqCst) == Rest::kLooks
                   ? worker.rest.answered.load(kAcquire) == round
                   : IsIdle(scheduler, worker);
    });
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

// Nothing has run for long enough. Returns false if workers pass tasks on, but not each fiber of
// the pool belongs to a task that waits.
bool Judge(Scheduler &scheduler, const StallWatch::Seen &seen) noexcept {
    if (!seen.passesOn) return ReportWaiters(scheduler, seen.isQueued, seen.anyDeadline), true;
    const FiberPool &fibers = scheduler.fibers;
    const auto spareOf = [&](uint32_t i) -> auto & { return scheduler.workers[i].spareFiber; };
    const auto waits = [](const Fiber &fiber) { return fiber.wait.counter.load(kRelaxed); };
    if (fibers.free.Any(scheduler.Slots(), spareOf) ||
        !std::all_of(fibers.all, fibers.all + fibers.count, waits))
        return false;
    ReportOnce(scheduler, ReportCode::OutOfFibers,
               "Raise SchedulerOptions::fibers: each waiting task holds a fiber.",
               "tasks are pending, and all %u fibers wait", fibers.count);
    return true;
}

void ReportNoProgress(Scheduler &scheduler) noexcept {
    const WaitGraph graph(scheduler, false);
    ReportText text(scheduler.memory, graph.Count());
    text.Add("no task has ended for %u ms, and %llu are pending",
             scheduler.options.watchdogMilliseconds,
             static_cast<unsigned long long>(PendingTasks(scheduler, &Worker::ended)));
    AddRunning(text, scheduler);
    if (CountBlocked(graph) != 0) text.Add("; waiting: ");
    AddWaiters(text, scheduler, graph);
    ReportTextOnce(scheduler, ReportCode::NoProgress,
                   "Divide the task that runs, let calls that block run on BlockingCalls "
                   "(weft/blocking/blocking_calls.h), or raise "
                   "SchedulerOptions::watchdogMilliseconds.",
                   text.Get());
}

void WatchdogThread(void *arg) {
    Scheduler &scheduler = *static_cast<Scheduler *>(arg);
    Watchdog &watchdog = scheduler.watchdog;
    if (scheduler.options.threadName != nullptr) env::NameThread("weft watchdog", 0);
    const uint64_t lasts = uint64_t{scheduler.options.watchdogMilliseconds} * 1'000'000;
    uint64_t finished = CountFinished(scheduler);
    uint64_t since = env::Now();
    for (;;) {
        // The unpark comes after `ends`. acquire is in the Parker.
        if (watchdog.parker.ParkUntil(env::Now() + lasts / 4) && watchdog.ends.load(kRelaxed))
            return;
        const uint64_t now = env::Now();
        const uint64_t seen = CountFinished(scheduler);
        if (seen != finished || PendingTasks(scheduler) == 0 || AllIdle(scheduler)) {
            finished = seen;
            since = now;
        } else if (now - since >= lasts) {
            return ReportNoProgress(scheduler);
        }
    }
}

}  // namespace

bool AllIdle(const Scheduler &scheduler) noexcept {
    return AllOf(scheduler, [&](const Worker &worker) { return IsIdle(scheduler, worker); });
}

bool IsFree(const Scheduler &scheduler, uint32_t fiber) noexcept {
    return scheduler.fibers.free.Has(fiber) || !AllOf(scheduler, [&](const Worker &worker) {
               return worker.spareFiber.load(kRelaxed) != fiber;
           });
}

bool AnyQueued(const Scheduler &scheduler, bool ofAbsent) noexcept {
    const auto hasNone = [&](const Worker &worker) {
        if ((ofAbsent || worker.rest.kind.load(kRelaxed) != Rest::kAway) && !worker.inbox.IsEmpty())
            return false;
        return std::none_of(std::begin(worker.queue), std::end(worker.queue),
                            [](auto &queue) { return queue.IsAcquired() && queue.Size() != 0; });
    };
    return !scheduler.injector.IsEmpty() || scheduler.AnyBehind() || !AllOf(scheduler, hasNone);
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
    if (PendingTasks(scheduler) == 0 && scheduler.guests.attached.IsZero()) return Timers::kNever;
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

bool StartWatchdog(Scheduler &scheduler) noexcept {
    if (scheduler.options.watchdogMilliseconds == 0) return true;
    Watchdog &watchdog = scheduler.watchdog;
    watchdog.isRunning =
        watchdog.thread.Start(WatchdogThread, &scheduler, scheduler.options.threadStackBytes);
    if (!watchdog.isRunning)
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Lower these options, or raise the limits of the process.",
                      "the scheduler cannot start: the system refuses the thread of the watchdog "
                      "(SchedulerOptions::watchdogMilliseconds, threadStackBytes)");
    return watchdog.isRunning;
}

void EndWatchdog(Scheduler &scheduler) noexcept {
    Watchdog &watchdog = scheduler.watchdog;
    if (!watchdog.isRunning) return;
    watchdog.ends.store(true, kRelaxed);  // published by Unpark
    watchdog.parker.Unpark();
    watchdog.thread.Join();
    watchdog.isRunning = false;
}

}  // namespace weft::internal
