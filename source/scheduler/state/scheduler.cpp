#include "scheduler/state/scheduler.h"

namespace weft::internal {

uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t finished = 0;
    uint64_t submitted = 0;
    // acquire: pairs with FlushPending, so that what finished tasks submitted is counted below.
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) finished += scheduler.workers[i].finished.load(kAcquire);
    // Again: what a thread that has attached since submitted may be among the finished. What it
    // finished is left out, so the answer may be too large; then that thread asks after it has
    // finished.
    slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.externalSubmitted.load(kAcquire) - finished;
}

}  // namespace weft::internal
