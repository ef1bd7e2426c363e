#include "scheduler/any_work.h"

#include "scheduler/low_limit.h"
#include "scheduler/pinned.h"

namespace weft::internal {

bool AnyWork(const Worker *worker, Ability ability) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    if (!worker->mailbox.IsEmpty() || worker->pinnedFibers.first != nullptr) return true;
    if (ability == Ability::PinnedOnly) return scheduler.IsActive(worker->index) || AnyPinnedTask(worker);
    if (!scheduler.injector.IsEmpty()) return true;
    if (!scheduler.lowAside.IsEmpty() && AnyLowPermit(scheduler)) return true;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &other = scheduler.workers[i];
        if (other.ready.Size() != 0) return true;
        for (uint32_t lane = 0; lane < kLanes && ability == Ability::Tasks; ++lane) {
            if (other.lanes[lane].Size() != 0 && (lane != kLowLane || AnyLowPermit(scheduler))) return true;
        }
    }
    if (ability != Ability::Tasks) return scheduler.pool.AnyFree(StackClass::Small);
    const bool lowBacklog = scheduler.largeBacklog[1].load(kSeqCst) != 0 && AnyLowPermit(scheduler);
    const bool wantsLarge = scheduler.largeBacklog[0].load(kSeqCst) != 0 || lowBacklog || worker->wantsLarge;
    return wantsLarge && scheduler.pool.AnyFree(StackClass::Large);
}

bool AnyTask(const Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (worker.keepsTasks.load(kRelaxed)) return true;
        for (const WorkStealingDeque<TaskEntry> &lane : worker.lanes) {
            if (lane.Size() != 0) return true;
        }
    }
    return false;
}

}  // namespace weft::internal
