#include "scheduler/low_limit.h"

#include "scheduler/ready.h"

namespace weft::internal {

namespace {

bool AnyLowTask(const Scheduler &scheduler) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        if (scheduler.workers[i].lanes[kLowLane].Size() != 0) return true;
    }
    return scheduler.largeBacklog[1].load(kSeqCst) != 0;
}

// The oldest fiber that was put aside becomes ready. Again, if a permit came back while others saw an empty list.
void ReviveOne(Scheduler &scheduler, Worker *worker) noexcept {
    while (AnyLowPermit(scheduler) && !scheduler.lowAside.IsEmpty()) {
        Letter *letter = scheduler.lowAside.TakeAll();
        if (letter == nullptr) return;  // who has it goes on here
        Letter *rest = letter->next;
        MakeReady(scheduler, worker, static_cast<Fiber *>(letter));
        if (rest == nullptr) return;
        while (rest != nullptr) {
            Letter *next = rest->next;
            scheduler.lowAside.Push(rest);
            rest = next;
        }
    }
}

}  // namespace

void GiveLowPermit(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.options.maxLowWorkers == 0) return;
    scheduler.lowRunning.fetch_sub(1, kSeqCst);
    if (!scheduler.lowAside.IsEmpty()) {
        ReviveOne(scheduler, worker);
    } else if (AnyLowTask(scheduler)) {
        WakeForTasks(scheduler, worker, 1);
    }
}

bool TakePermitOf(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept {
    if (fiber->pinnedTo != kAnyWorker) {
        scheduler.lowRunning.fetch_add(1, kSeqCst);
        return true;
    }
    if (TakeLowPermit(scheduler)) return true;
    scheduler.lowAside.Push(fiber);  // [order]
    ReviveOne(scheduler, worker);    // [re-check]
    return false;
}

}  // namespace weft::internal
