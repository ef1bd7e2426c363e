// Implements the last check before sleep.
#include "scheduler/find/any_work.h"

#include "scheduler/find/own_tasks.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/rescue.h"

namespace weft::internal {

namespace {

// Returns true if `owner` has a task of the level that `worker` can run, or can hand to a fiber
// (rescue.h). The caller has a fiber, or does not know yet that it has none.
bool AnyTaskFor(const Worker *worker, const Worker &owner, Level level) noexcept {
    const bool rescues = !IsRestricted(worker);
    const uint32_t small = LaneOf(level, StackClass::Small);
    const uint32_t large = LaneOf(level, StackClass::Large);
    if (owner.lanes[small].Size() != 0) return true;
    return owner.lanes[large].Size() != 0 &&
           (worker->scheduler->pool.AnyFree(StackClass::Large) ||
            (rescues && !IsRescueDone(worker, StackClass::Large)));
}

}  // namespace

bool AnyWork(const Worker *worker, WorkerMode mode) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    if (!worker->inbox.IsEmpty()) return true;
    // In this mode the worker waits for one fiber, which comes through the inbox. The worker has
    // searched the items that came earlier.
    if (mode == WorkerMode::Nothing) return false;
    // A restricted worker may come here before it has tried to get a fiber. Until it is marked as
    // starved, no worker wakes it for a fiber that is freed.
    const auto hasFiberOrMayTry = [&] {
        return scheduler.pool.AnyFree(StackClass::Small) ||
               !scheduler.pool.IsStarved(worker->index);
    };
    // other work of this mode: it digs for that soon (Worker::digAt)
    if (mode == WorkerMode::OwnTasks) return hasFiberOrMayTry() && AnyAwaited(worker);
    if (AnyPinnedFiber(*worker)) return true;
    if (mode == WorkerMode::PinnedOnly)
        return scheduler.IsActive(worker->index) || AnyPinnedTask(worker);
    if (!scheduler.injector.IsEmpty()) return true;
    const bool hasFiber =
        mode == WorkerMode::Tasks || (mode == WorkerMode::HigherTasks && hasFiberOrMayTry());
    const uint32_t slots = scheduler.Slots();
    const uint32_t levels = scheduler.Levels();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &other = scheduler.workers[i];
        for (uint32_t level = 0; level < levels; ++level) {
            if (!MayRun(*worker, LevelAt(level))) continue;
            if (other.ready[level].Size() != 0) return true;
            if (hasFiber && AnyTaskFor(worker, other, LevelAt(level))) return true;
        }
    }
    if (!hasFiber) {
        return scheduler.pool.AnyFree(StackClass::Small) ||
               !IsRescueDone(worker, StackClass::Small);
    }
    return worker->wantsLarge && scheduler.pool.AnyFree(StackClass::Large);
}

bool AnyTask(const Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (worker.keepsTasks.load(kRelaxed)) return true;
        for (uint32_t lane = 0; lane < scheduler.Lanes(); lane += kClasses) {
            if (worker.lanes[lane].Size() != 0) return true;
        }
    }
    return false;
}

bool AnyLargeTask(const Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        if (HasLargeTask(scheduler.workers[i])) return true;
    }
    return false;
}

}  // namespace weft::internal
