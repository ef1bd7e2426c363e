// Counting the pending tasks of a scheduler.
#include "scheduler/state/scheduler.h"

namespace weft::internal {

uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t finished = 0;
    uint64_t submitted = 0;
    // acquire: pairs with the release in CountFinished. What the finished tasks have submitted is
    // counted below.
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) finished += scheduler.workers[i].finished.load(kAcquire);
    // Reads the number of slots again. A thread may have attached since then, and some tasks that
    // were counted as finished may have been submitted by it. Tasks that finished on this thread
    // are not counted, so the result may be too large. In that case this thread calls PendingTasks
    // later, after it has finished them.
    slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.externalSubmitted.load(kAcquire) - finished;
}

}  // namespace weft::internal
