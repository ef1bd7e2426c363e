#include "sync/wake_list.h"

#include "scheduler/api/internal_api.h"

namespace weft::internal {

void WakeList::Wake(TaskScheduler &scheduler) noexcept {
    for (Waiter *waiter = m_first; waiter != nullptr;) {
        Waiter *const next = waiter->nextToWake;
        // release: what was done before the call, and all that this has touched.
        if (!LowerForWaiter(scheduler, waiter->counter, "the wake-up of a waiter"))
            waiter->wasRefused.store(true, kRelease);
        // From here on the waiter may be gone.
        waiter = next;
    }
}

}  // namespace weft::internal
