// Chooses which sleepers to wake, and shows the notices.
#include "scheduler/submit/wake.h"

#include "platform/compiler.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Wakes all sleepers that a wait restricts to higher tasks, because the caller does not know which
// of them may run the work. Wakes each of them once. A loop until none is left could wake the same
// one for ever.
void WakeHigher(Scheduler &scheduler, Worker *worker) noexcept {
    WakeEach(scheduler, worker, WorkerMode::HigherTasks, [](uint32_t) { return true; });
}

// The same for all sleepers that a wait restricts in any way.
void WakeRestricted(Scheduler &scheduler, Worker *worker, const Counter *counter) noexcept {
    WakeHigher(scheduler, worker);
    WakeOwn(scheduler, worker, counter);
}

// Where the search for a sleeper begins: behind the caller's own index.
uint32_t HomeOf(const Worker *worker) noexcept { return worker != nullptr ? worker->index + 1 : 0; }

// Wakes a sleeper that no wait restricts; a starved one if there is no other. For a ready fiber.
// Returns false if no such sleeper is left.
bool WakeOpen(Scheduler &scheduler, Worker *worker) noexcept {
    uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker));
    if (sleeper == IdleSet::kNone) sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker));
    if (sleeper == IdleSet::kNone) return false;
    Unpark(scheduler, worker, sleeper);
    return true;
}

}  // namespace

void ShowSpecialLane(Worker *worker, uint32_t lane) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (PriorityOf(lane) != Priority::Normal) ShowLevel(scheduler, LevelOf(lane));
    if (ClassOf(lane) == StackClass::Large) scheduler.notices.Show(Notices::kLargeWork);
}

void ShowLevel(Scheduler &scheduler, Level level) noexcept {
    // seq_cst: after the task was published, see groups.h. Attached threads look at the notices of
    // the first group.
    const uint32_t groups =
        scheduler.groupsOf[level.Index()].load(kSeqCst) & ((1u << kMaxGroups) - 1);
    scheduler.notices.Show(level.ThePriority() == Priority::High ? Notices::HighWorkOf(groups)
                                                                 : Notices::LowWorkOf(groups));
}

bool AnyOpen(const Scheduler &scheduler, uint32_t runs) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (!worker.restricted.load(kRelaxed) && scheduler.IsActive(i) &&
            (runs & ~worker.runs.load(kRelaxed)) == 0)
            return true;
    }
    return false;
}

void WakeOwnNow(Scheduler &scheduler, Worker *worker, const Counter *counter) noexcept {
    const bool anyOpen = AnyOpen(scheduler, (1u << scheduler.Levels()) - 1);
    if (anyOpen && counter == nullptr) return;
    WakeEach(scheduler, worker, WorkerMode::OwnTasks, [&](uint32_t index) {
        // relaxed: a hint. A worker that is not woken here digs soon.
        return !anyOpen || scheduler.workers[index].awaits.load(kRelaxed) == counter;
    });
}

void WakeWanted(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t share,
                const Counter *counter) noexcept {
    const uint32_t missing = scheduler.idle.Missing(count);
    // The number of sleepers may be far too large for a moment (IdleSet::Wanted).
    uint32_t left = std::min(std::max(missing, share), scheduler.Slots());
    constexpr uint32_t kMax = 3;
    for (uint32_t i = 0; i < kMax && left != 0; ++i) {
        const uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker));
        if (sleeper == IdleSet::kNone)
            return i < missing ? WakeRestricted(scheduler, worker, counter) : void();
        const uint32_t part = (left + kMax - 1 - i) / (kMax - i);
        left -= part;
        scheduler.workers[sleeper].toWake = part - 1;  // published by Unpark
        Unpark(scheduler, worker, sleeper);
    }
}

void WakeForGroups(Scheduler &scheduler, Worker *worker, uint32_t count, Level level,
                   const Counter *counter) noexcept {
    // seq_cst: after the task was published, see groups.h. Sleepers are found by their bits,
    // because the number of sleepers may be too small for a moment (IdleSet::Wanted).
    const uint32_t groups = scheduler.groupsOf[level.Index()].load(kSeqCst);
    const auto among = [&](uint32_t word) { return scheduler.SlotsOf(groups, word); };
    for (uint32_t i = 0; i < count && i < 2; ++i) {
        uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker), among);
        if (sleeper == IdleSet::kNone)
            sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker), among);
        if (sleeper == IdleSet::kNone)
            return level.ThePriority() != Priority::Low ? WakeRestricted(scheduler, worker, counter)
                                                        : void();
        Unpark(scheduler, worker, sleeper);
    }
}

void WakeForEntry(Scheduler &scheduler, Worker *worker, Level level) noexcept {
    // seq_cst: after the entry was put back, see groups.h.
    const uint32_t groups = scheduler.groupsOf[level.Index()].load(kSeqCst);
    const auto among = [&](uint32_t word) { return scheduler.SlotsOf(groups, word); };
    const uint32_t sleeper = scheduler.idle.TakeSleeper(HomeOf(worker), among);
    if (sleeper != IdleSet::kNone) return Unpark(scheduler, worker, sleeper);
    const auto hasFiber = [&](uint32_t index) { return !scheduler.pool.IsStarved(index); };
    for (const WorkerMode mode : {WorkerMode::HigherTasks, WorkerMode::OwnTasks})
        WakeEach(scheduler, worker, mode, hasFiber);
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

// If there are several groups: wakes workers also for what lies in the worker's own queues, because
// a searcher of another group does not take it.
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
    if (scheduler.idle.Wanted() && !WakeOpen(scheduler, worker))
        WakeRestricted(scheduler, worker, nullptr);
    if (WEFT_UNLIKELY(scheduler.groupCount > 1) && worker != nullptr)
        WakeForOwnQueues(scheduler, worker);
}

void WakeOther(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.idle.Wanted() && !WakeOpen(scheduler, worker)) WakeHigher(scheduler, worker);
}

void WakeStarved(Scheduler &scheduler, Worker *worker) noexcept {
    if (!scheduler.pool.AnyStarved()) return;
    const uint32_t sleeper = scheduler.idle.TakeStarvedSleeper(HomeOf(worker));
    if (sleeper != IdleSet::kNone) return Unpark(scheduler, worker, sleeper);
    // of the restricted workers only those that lack a fiber
    const auto lacksFiber = [&](uint32_t index) { return scheduler.pool.IsStarved(index); };
    for (const WorkerMode mode : {WorkerMode::HigherTasks, WorkerMode::OwnTasks})
        WakeEach(scheduler, worker, mode, lacksFiber);
}

void WakeForFreeLarge(Scheduler &scheduler, Worker *worker) noexcept {
    // The notices may have been hidden while no Large fiber was free.
    const uint32_t groups = (1u << scheduler.groupCount) - 1;
    scheduler.notices.Show(Notices::HighWorkOf(groups) | Notices::LowWorkOf(groups));
    WakeForAllLevels(scheduler, worker, 1);
}

void WakeEverySleeper(Scheduler &scheduler, Worker *worker) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) WakeAt(scheduler, worker, i);
}

void WakeAll(Scheduler &scheduler, Worker *worker) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        scheduler.idle.TakeSleeperAt(i);
        Unpark(scheduler, worker, i);
    }
}

void Ask(Worker &worker, StackClass stack) noexcept {
    // seq_cst: after the task was put into a lane
    worker.rescuesAsked.fetch_or(1u << static_cast<uint32_t>(stack), kSeqCst);
}

void AskGroups(Scheduler &scheduler, const Worker *worker, StackClass stack, Level level) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        if (i != worker->index && Runs(scheduler.workers[i], level))
            Ask(scheduler.workers[i], stack);
    }
}

void CountLarge(Scheduler &scheduler) noexcept {
    // seq_cst, both: after the task was put into the lane.
    if (!scheduler.pool.AnyFree(StackClass::Large)) scheduler.rescues.fetch_add(1, kSeqCst);
}

void AskForRescue(const Worker *worker, Level level) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // seq_cst: after the task was put into the lane. A worker that becomes starved later goes
    // through the lanes after that.
    if (IsDivided(scheduler, level) && scheduler.pool.AnyStarved())
        AskGroups(scheduler, worker, StackClass::Small, level);
}

}  // namespace weft::internal
