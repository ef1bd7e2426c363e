#include "scheduler/any_work.h"

#include "scheduler/find_work.h"
#include "scheduler/pinned.h"
#include "scheduler/rescue.h"

namespace weft::internal {

namespace {

// `worker` looks; it has a fiber for the task, or does not know yet that it has none.
bool AnyTaskFor(const Worker *worker, const Worker &owner, uint32_t priority) noexcept {
    const bool rescues = !IsRestricted(worker);
    const uint32_t small = LaneOf(static_cast<Priority>(priority), StackClass::Small);
    const uint32_t large = LaneOf(static_cast<Priority>(priority), StackClass::Large);
    if (owner.lanes[small].Size() != 0) return true;
    return owner.lanes[large].Size() != 0 && (worker->scheduler->pool.AnyFree(StackClass::Large) ||
                                              (rescues && !IsRescueDone(worker, StackClass::Large)));
}

}  // namespace

bool AnyWork(const Worker *worker, Ability ability) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    if (!worker->mailbox.IsEmpty()) return true;
    if (ability == Ability::Nothing) return false;   // it has looked at all that came before
    if (ability == Ability::OwnTasks) return false;  // it will look again soon
    if (AnyPinnedFiber(*worker)) return true;
    if (ability == Ability::PinnedOnly) return scheduler.IsActive(worker->index) || AnyPinnedTask(worker);
    if (!scheduler.injector.IsEmpty()) return true;
    // A restricted worker may get here before it has looked for a fiber. Until it is marked as starved, nobody wakes it for a freed one.
    const bool hasFiber = ability == Ability::Tasks ||
                          (ability == Ability::HigherTasks &&
                           (scheduler.pool.AnyFree(StackClass::Small) || !scheduler.pool.IsStarved(worker->index)));
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &other = scheduler.workers[i];
        for (uint32_t priority = 0; priority < kPriorities; ++priority) {
            if (!MayRun(*worker, static_cast<Priority>(priority))) continue;
            if (other.ready[priority].Size() != 0) return true;
            if (hasFiber && AnyTaskFor(worker, other, priority)) return true;
        }
    }
    if (ability == Ability::ReadyFibersOnly) {
        return scheduler.pool.AnyFree(StackClass::Small) || !IsRescueDone(worker, StackClass::Small);
    }
    return hasFiber && worker->wantsLarge && scheduler.pool.AnyFree(StackClass::Large);
}

bool AnyTask(const Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (worker.keepsTasks.load(kRelaxed)) return true;
        for (uint32_t lane = 0; lane < kLanes; lane += kClasses) {
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
