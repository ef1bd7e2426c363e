// Implements take.h. Each function first checks whether this worker may run the level, and whether
// a fiber of the class is available.
#include "scheduler/find/take.h"

#include "scheduler/find/claim.h"
#include "scheduler/find/pinned.h"

#include <algorithm>

namespace weft::internal {

Found ReadyFiberOf(Worker *worker, Worker *owner, Level level) noexcept {
    WorkStealingDeque<uint64_t> &ready = owner->ready[level.Index()];
    uint64_t index;
    if (!MayRun(*worker, level) || ready.LooksEmpty() || ready.Steal(index) != StealResult::Taken)
        return {};
    return {&worker->scheduler->fibers[index], false};
}

Found ReadyFiber(Worker *worker, Worker *owner, Priority priority) noexcept {
    return InLevels(worker, priority,
                    [=](Level level) { return ReadyFiberOf(worker, owner, level); });
}

Found OldestTask(Worker *worker, Worker *owner, uint32_t lane, WantedSlice wanted) noexcept {
    Level level = LevelOf(lane);
    TaskEntry entry;
    const auto isWanted = [=](const TaskEntry &oldest) {
        return !oldest.IsSlice() ||
               (oldest.Batch() != wanted.notOf && oldest.Count() >= wanted.least);
    };
    if (owner->lanes[lane].LooksEmpty() || !MayRun(*worker, level) ||
        !CanRun(worker, ClassOf(lane)) ||
        owner->lanes[lane].StealIf(entry, isWanted) != StealResult::Taken) {
        return {};
    }
    const Lent lent{owner->lends.load(kRelaxed)};
    if (lent.IsOf(entry.TheCounter()) && MayRaise(*worker->scheduler, level))
        level = level.At(std::min(lent.ThePriority(), level.ThePriority()));
    ClaimEntry(worker, entry, level, owner->index);
    return {nullptr, true};
}

Found NewestOf(Worker *worker, uint32_t lane) noexcept {
    TaskEntry entry;
    if (!HoldsTask(worker, lane) || !MayRun(*worker, LevelOf(lane)) ||
        !CanRun(worker, ClassOf(lane)) || !worker->lanes[lane].Pop(entry))
        return {};
    ClaimEntry(worker, entry, LevelOf(lane), worker->index);
    return {nullptr, true};
}

// Large tasks go before small ones: there are few of them, and they take long.
Found NewestTask(Worker *worker, Priority priority) noexcept {
    return InLevels(worker, priority, [=](Level level) {
        const Found found = NewestOf(worker, LaneOf(level, StackClass::Large));
        return found ? found : NewestOf(worker, LaneOf(level, StackClass::Small));
    });
}

Found LateTask(Worker *worker, Worker *owner, uint32_t lane) noexcept {
    uint64_t batch = 0;
    const auto look = [&](const TaskEntry &newest) {
        if (newest.IsSlice()) batch = newest.Batch();
        return false;
    };
    TaskEntry newest;
    worker->lanes[lane].PopIf(newest, look);
    const Found found = OldestTask(worker, owner, lane, {batch, 0});
    return found || batch == 0 ? found : NewestOf(worker, lane);
}

bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept {
    if (!HoldsTasks(worker)) return false;
    for (uint64_t lanes = worker->mayHold; lanes != 0; lanes &= lanes - 1) {
        const uint32_t lane = LowestBit(lanes);
        if (!HoldsTask(worker, lane) || ClassOf(lane) > most || !Runs(*worker, LevelOf(lane)))
            continue;
        const Level level = LevelOnTop(*worker->scheduler, worker->current->level, LevelOf(lane));
        if (level.IsNone()) continue;
        TaskEntry entry;
        const auto isWanted = [=](const TaskEntry &newest) {
            return newest.TheCounter() == counter;
        };
        if (!worker->lanes[lane].PopIf(entry, isWanted)) continue;
        ClaimEntry(worker, entry, LevelOf(lane), worker->index);
        worker->claim.level = level;
        return true;
    }
    return false;
}

}  // namespace weft::internal
