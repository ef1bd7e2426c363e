#include "scheduler/ready.h"

#include "platform/compiler.h"
#include "scheduler/any_work.h"
#include "scheduler/deferred.h"
#include "scheduler/find_work.h"
#include "scheduler/own_tasks.h"
#include "scheduler/reporting.h"
#include "scheduler/submit.h"
#include "scheduler/wait_any.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Wakes all restricted sleepers: the caller does not know which of them may run the work. Each is
// woken once; a loop until none is left could wake the same one for ever.
void WakeHigher(Scheduler &scheduler) noexcept {
    WakeEach(scheduler, Ability::HigherTasks, [](uint32_t) { return true; });
}

void WakeRestricted(Scheduler &scheduler) noexcept {
    WakeHigher(scheduler);
    WakeOwn(scheduler);
}

uint32_t HomeOf(const Worker *worker) noexcept { return worker != nullptr ? worker->index + 1 : 0; }

// For a ready fiber. False if no such sleeper is left.
bool WakeOpen(Scheduler &scheduler, Worker *worker) noexcept {
    uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker));
    if (sleeper == IdleSet::kNone) sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker));
    if (sleeper == IdleSet::kNone) return false;
    scheduler.workers[sleeper].parker.Unpark();
    return true;
}

// Each step of a hand-over shows, so this is not called. The level is read before the fiber is
// published.
WEFT_FORCEINLINE bool PushReadyHere(Worker *worker, const Fiber *fiber, Level level) noexcept {
    const uint32_t i = level.Index();
    if (WEFT_UNLIKELY((level.Set() != 0 && !AcquireSet(*worker, level.Set())) ||
                      !worker->ready[i].Push(fiber->index)))
        return false;
    worker->mayHoldFibers |= level.Bit();
    if (WEFT_UNLIKELY(i != Level().Index())) {
        LookAtRuns(worker);
        if (level.ThePriority() != Priority::Normal) ShowLevel(*worker->scheduler, level);
    }
    return true;
}

}  // namespace

void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept {
    const uint32_t pinnedTo = fiber->pinnedTo;  // read before it is published
    if (pinnedTo != kAnyWorker) {
        PushMail(scheduler.workers[pinnedTo], fiber);
        return WakeAt(scheduler, pinnedTo);
    }
    const Level level = fiber->level;
    const bool handOver = worker != nullptr && worker->looksNext && !worker->owesWake &&
                          !HoldsAnyFiber(worker) && MayRun(*worker, level);
    if (worker == nullptr || !PushReadyHere(worker, fiber, level)) {
        Inject(scheduler, fiber);
    } else if (handOver) {
        worker->owesWake = true;  // FindOwn pays unless it takes this very fiber
        return;
    }
    if (IsDivided(scheduler, level)) return WakeForGroups(scheduler, worker, 1, level);
    WakeForAny(scheduler, worker);
}

bool PushReady(Worker *worker, Fiber *fiber) noexcept {
    return PushReadyHere(worker, fiber, fiber->level);
}

void WakeOwners(Scheduler &scheduler, Worker *worker, uint32_t list) noexcept {
    while (list != 0) {
        const uint32_t owner = scheduler.counters.NextOwner(list, CacheOf(worker));
        if (WEFT_LIKELY((owner & (kThreadOwner | kAnyOwner | kTaskOwner)) == 0)) {
            MakeReady(scheduler, worker, &scheduler.fibers[owner]);
        } else if ((owner & kThreadOwner) != 0) {
            // a guest: its place stays
            scheduler.threadWaiters.At(owner & ~kThreadOwner).parker.Unpark();
        } else if ((owner & kAnyOwner) != 0) {
            FireAnyWait(scheduler, worker, owner);
        } else {
            SendDeferred(scheduler, worker, owner);
        }
    }
}

bool LowerAndWake(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept {
    uint32_t woken = 0;
    switch (scheduler.counters.Decrement(CounterAccess::Word(counter), n, woken)) {
        case CounterResult::Ok:
            break;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "Decrement", counter);
            return false;
        default:
            ReportMistake(
                scheduler.options, ReportCode::CounterUnderflow,
                "Lower a counter only by what was added to it; tasks lower theirs by themselves.",
                "counter %p would fall below zero: it stands at %u and was to be lowered by %u",
                static_cast<void *>(&counter), counter.Value(), n);
            return false;
    }
    if (woken == 0) return true;
    // relaxed: raised before the record that was found here. What follows the counter begins behind
    // all that it counted.
    if (race::kFinder && scheduler.deferred.load(kRelaxed) != 0) race::SawCount(counter);
    WakeOwners(scheduler, worker, woken);
    return true;
}

void WakeWanted(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t share) noexcept {
    const uint32_t missing = scheduler.idle.Missing(count);
    // The number of sleepers may be far too large for a moment (IdleSet::Wanted).
    uint32_t left = std::min(std::max(missing, share), scheduler.Slots());
    constexpr uint32_t kMax = 3;
    for (uint32_t i = 0; i < kMax && left != 0; ++i) {
        const uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker));
        if (sleeper == IdleSet::kNone) return i < missing ? WakeRestricted(scheduler) : void();
        const uint32_t part = (left + kMax - 1 - i) / (kMax - i);
        left -= part;
        scheduler.workers[sleeper].toWake = part - 1;  // published by the next
        scheduler.workers[sleeper].parker.Unpark();
    }
}

void WakeForGroups(Scheduler &scheduler, Worker *worker, uint32_t count, Level level) noexcept {
    // seq_cst: after the task was published, see groups.h. Sleepers are taken by their bits; their
    // number may be too small (IdleSet::Wanted).
    const uint32_t groups = scheduler.groupsOf[level.Index()].load(kSeqCst);
    const auto among = [&](uint32_t word) { return scheduler.SlotsOf(groups, word); };
    for (uint32_t i = 0; i < count && i < 2; ++i) {
        uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker), among);
        if (sleeper == IdleSet::kNone)
            sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker), among);
        if (sleeper == IdleSet::kNone)
            return level.ThePriority() != Priority::Low ? WakeRestricted(scheduler) : void();
        scheduler.workers[sleeper].parker.Unpark();
    }
}

void WakeForAllLevels(Scheduler &scheduler, Worker *worker, uint32_t count,
                      uint32_t share) noexcept {
    WakeForTasks(scheduler, worker, count, share);
    if (scheduler.groupCount == 1) return;
    const uint32_t levels = scheduler.Levels();
    for (uint32_t i = 0; i < levels; ++i) {
        if (IsDivided(scheduler, LevelAt(i))) WakeForGroups(scheduler, worker, count, LevelAt(i));
    }
}

namespace {

// Where there are several groups: also for what lies in the worker's own queues, as a searcher of
// another group does not count for that.
WEFT_NOINLINE void WakeForOwnQueues(Scheduler &scheduler, Worker *worker) noexcept {
    const uint32_t levels = scheduler.Levels();
    for (uint32_t i = 0; i < levels; ++i) {
        const Level level = LevelAt(i);
        if (IsDivided(scheduler, level) &&
            (worker->ready[i].Size() != 0 || HasTaskOf(*worker, level)))
            WakeForGroups(scheduler, worker, 1, level);
    }
}

}  // namespace

void WakeForAny(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.idle.Wanted() && !WakeOpen(scheduler, worker)) WakeRestricted(scheduler);
    if (WEFT_UNLIKELY(scheduler.groupCount > 1) && worker != nullptr)
        WakeForOwnQueues(scheduler, worker);
}

void WakeOther(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.idle.Wanted() && !WakeOpen(scheduler, worker)) WakeHigher(scheduler);
}

void WakeStarved(Scheduler &scheduler, Worker *worker) noexcept {
    if (!scheduler.pool.AnyStarved()) return;
    const uint32_t sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker));
    if (sleeper != IdleSet::kNone) return scheduler.workers[sleeper].parker.Unpark();
    // Only those that lack a fiber: or they would wake each other with the same one again and
    // again.
    const auto lacksFiber = [&](uint32_t index) { return scheduler.pool.IsStarved(index); };
    for (const Ability ability : {Ability::HigherTasks, Ability::OwnTasks})
        WakeEach(scheduler, ability, lacksFiber);
}

void WakeForFreeLarge(Scheduler &scheduler, Worker *worker) noexcept {
    // They may have been hidden while no Large fiber was free.
    const uint32_t groups = (1u << scheduler.groupCount) - 1;
    scheduler.notices.Show(Notices::HighWorkOf(groups) | Notices::LowWorkOf(groups));
    WakeForAllLevels(scheduler, worker, 1);
}

void WakeEverySleeper(Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) WakeAt(scheduler, i);
}

void WakeAll(Scheduler &scheduler) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        scheduler.idle.TakeSleeperAt(i);
        scheduler.workers[i].parker.Unpark();
    }
}

}  // namespace weft::internal
