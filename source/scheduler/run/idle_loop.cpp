// What a worker without work does: it searches, then sleeps.
#include "scheduler/run/run.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/policy/ordered.h"
#include "scheduler/policy/places.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Cancels the sleep, or consumes the Unpark of the thread that has taken this sleeper.
void GetUp(Worker &worker) noexcept {
    if (!worker.scheduler->idle.TakeAt(worker.index)) worker.parker.Park();
}

// Sleeps until somebody wakes this worker, or until the earliest deadline if no other sleeper keeps
// that one (the keeper). A check for a stall is such a deadline, too.
//
// No deadline is missed. A thread that sets an earlier one (d1) reads keeperUntil (d2) and wakes a
// worker if it is later. The keeper writes keeperUntil (k1) and then reads the earliest deadline
// once more (k2). All four are seq_cst, so one of them sees the other.
void ParkInTime(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    worker.figures.Count(&Figures::sleeps);
    const uint64_t looksAt = WatchForStall(scheduler);  // may call the host
    worker.rest.isParked.store(true, kSeqCst);
    // It looks again for what its waits with OwnTasks want (policy/own_tasks.h). It is no keeper,
    // so a thread that sets an earlier deadline wakes a worker.
    if (WEFT_UNLIKELY(worker.ownWaits != nullptr)) {
        const uint64_t most = env::Now() + 1'000'000;
        if (!worker.parker.ParkUntil(std::min(most, scheduler.timers.Next()))) GetUp(worker);
        return;
    }
    uint64_t next = std::min(scheduler.timers.Next(), looksAt),
             until = scheduler.keeperUntil.load(kSeqCst);
    do {
        if (next >= until) return worker.parker.Park();
    } while (!scheduler.keeperUntil.compare_exchange_strong(until, next, kSeqCst, kSeqCst));
    const bool woken = scheduler.timers.Next() >= next && worker.parker.ParkUntil(next);
    scheduler.keeperUntil.compare_exchange_strong(next, Timers::kNever, kSeqCst, kRelaxed);
    if (!woken) GetUp(worker);
}

// Returns as a searcher.
void Sleep(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    scheduler.idle.Announce(worker.index, worker.filter.may | kAnyKeeper, worker.filter.isChoosy);
    bool stays = scheduler.stopping.load(kSeqCst) || EndRun(scheduler, &worker) ||
                 AnswerIdleRequests(scheduler, &worker);
    stays = stays || AnyWork(worker);  // [re-check]
    if (stays || (IsOrdered(scheduler) && PassTime(worker))) return GetUp(worker);
    Emit(scheduler, &worker, TraceKind::Park);
    worker.rest.kind.store(Rest::kSleeps, kSeqCst);  // see diagnose/stall.cpp
    ParkInTime(worker);
    worker.rest.isParked.store(false, kRelaxed);
    worker.rest.kind.store(Rest::kNone, kRelaxed);
    Emit(scheduler, &worker, TraceKind::Unpark);
}

// The worker polls. Starts a check for a stall when `at` has passed (ticks).
void Poll(Worker &worker, uint64_t &at) noexcept {
    worker.rest.Answer(worker.scheduler->stall.round);
    if (env::Ticks() < at) return;
    at = env::Ticks() + worker.scheduler->tuning.millisecond;
    WatchForStall(*worker.scheduler);
}

// Returns how many pieces of work the worker may find.
uint64_t CountQueued(const Worker &worker) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    const uint32_t slots = scheduler.Slots();
    uint64_t count = 0;
    for (uint32_t i = 0; i < slots; ++i) {
        for (const auto &queue : scheduler.workers[i].queue) count += queue.Size();
    }
    for (const NodeQueue &pinned : worker.pinned) {
        for (const Node *node = pinned.first; node != nullptr; node = node->next) ++count;
    }
    return count;
}

// Returns a free fiber, which looks for work. If none is free, takes the usual work first, then
// that of all levels and places in turn: continues ready fibers, rescues tasks, and puts other
// tasks behind all others. Returns null after as many looks as there are pieces of work.
Fiber *FindFiber(Worker &worker) noexcept {
    if (Fiber *const fiber = AcquireFiber(worker)) return fiber;
    worker.fair.budget = 0;  // the nap is not charged to the fiber that comes next
    const uint64_t most = 1 + CountQueued(worker);
    for (uint64_t looks = 0; looks <= most; ++looks) {
        const Work work = NextWork(worker, looks != 0);
        if (!work) break;
        if (work.entry.TheKind() == Entry::Fiber) return &work.entry.TheFiber();
        if (Fiber *const fiber = Rescue(worker, work)) return fiber;
        PutBehind(worker, work);
    }
    return nullptr;
}

// Wakes others for queued work of the levels for which this worker may have been woken.
void PassWakeUpsOn(Worker &worker) noexcept {
    const uint32_t mine = worker.filter.isChoosy ? kAllLevels : kAllLevels & ~kPlainLevels;
    for (uint32_t levels = worker.filter.may & mine; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (AnyOf(worker, level)) Published(*worker.scheduler, &worker, level, 1);
    }
}

// The worker's filter has changed while it searches.
void SearchAs(Worker &worker, bool isChoosy) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    if (!isChoosy)
        scheduler.idle.StartSearching(false);
    else if (scheduler.idle.StopSearching(false))
        WakePlain(scheduler, &worker, 1);
}

}  // namespace

// A look takes cache lines from others. So the pauses grow while the deques of others change.
bool FindWork(Worker &worker, Work &work) noexcept {
    constexpr uint32_t kFewPauses = 16, kMostPauses = 128;  // between two looks
    Scheduler &scheduler = *worker.scheduler;
    worker.current->counter.store(nullptr, kRelaxed);
    worker.current->name.store(nullptr, kRelaxed);
    bool isChoosy = worker.filter.isChoosy;
    const IdlePolicy policy = scheduler.options.idle;
    const bool spins = policy == IdlePolicy::Spin;
    scheduler.idle.StartSearching(isChoosy);
    uint64_t since = env::Ticks(), looksAt = since;
    uint32_t passes = 0, pauses = 1;
    worker.thief.left = 0;
    bool searches = policy != IdlePolicy::Sleep;
    for (uint64_t moves = 0; !(work = NextWork(worker));) {
        if (scheduler.stopping.load(kSeqCst) || worker.leaves ||
            (spins && EndRun(scheduler, &worker))) {
            if (scheduler.idle.StopSearching(isChoosy) && worker.leaves)
                WakePlain(scheduler, &worker, 1);
            worker.rest.kind.store(Rest::kNone, kRelaxed);
            return false;
        }
        if (isChoosy != worker.filter.isChoosy) SearchAs(worker, isChoosy = !isChoosy);
        if (spins && !scheduler.idleRequests.LooksEmpty() && AnswerIdleRequests(scheduler, &worker))
            continue;
        if (spins) Poll(worker, looksAt);
        if (spins || (searches && env::Ticks() - since < scheduler.tuning.millisecond / 10)) {
            pauses = moves == worker.thief.moves ? kFewPauses : std::min(pauses * 2, kMostPauses);
            moves = std::exchange(worker.thief.moves, 0);
            uint32_t left = pauses;
            while (left-- != 0 && worker.inbox.LooksEmpty() && scheduler.injector.LooksEmpty())
                env::Pause();
            continue;
        }
        Sleep(worker);
        passes = WakeHints::Take(worker.woken.passes);
        // on the CPU of its waker a search would keep the waker from its work
        searches = policy != IdlePolicy::Sleep && worker.parker.WakersCpu() != env::CurrentCpu();
        since = env::Ticks();
        pauses = 1;
    }
    if (isChoosy != worker.filter.isChoosy) SearchAs(worker, isChoosy = !isChoosy);
    worker.rest.kind.store(Rest::kNone, kRelaxed);
    StartClock(worker);
    if (scheduler.idle.StopSearching(isChoosy)) passes = std::max({passes, worker.thief.left, 1u});
    // The worker may have been expected to keep the earliest deadline.
    if (!WakePlain(scheduler, &worker, passes)) KeepDeadline(scheduler, &worker);
    if (scheduler.options.groupCount != 0 || worker.filter.isChoosy) PassWakeUpsOn(worker);
    return true;
}

void ThreadLoop(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    uint64_t looksAt = env::Ticks();
    StartClock(worker);
    while (!scheduler.stopping.load(kSeqCst)) {
        if (Fiber *const fiber = FindFiber(worker)) {
            worker.rest.kind.store(Rest::kNone, kRelaxed);
            SwitchTo(worker.thread, *fiber, Destination::None);
        } else {
            AnswerIdleRequests(scheduler, &worker);
            Poll(worker, looksAt);
            env::NapThread();
        }
        if (worker.leaves) return;
    }
}

}  // namespace weft::internal
