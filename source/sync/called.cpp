#include "sync/called.h"

#include "scheduler/caller.h"

namespace weft::internal {

void Called::Wake(TaskScheduler &scheduler) noexcept {
    for (Waiter *waiter = m_first; waiter != nullptr;) {
        Waiter *const next = waiter->nextToWake;
        // release: what was done before the call, and all that this has touched.
        if (!LowerForWaiter(scheduler, waiter->counter, "the wake-up of a waiter"))
            waiter->wasRefused.store(true, kRelease);
        // From here on the waiter may be gone.
        waiter = next;
    }
}

bool IsTaskOf(const TaskScheduler &scheduler) noexcept { return WorkerOf(scheduler) != nullptr; }

}  // namespace weft::internal
