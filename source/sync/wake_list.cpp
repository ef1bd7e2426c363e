#include "sync/wake_list.h"

#include "scheduler/api/internal_api.h"

namespace weft::internal {

void WakeList::Wake(TaskScheduler &scheduler) noexcept {
    for (Waiter *waiter = m_first; waiter != nullptr;) {
        Waiter *const next = waiter->nextToWake;
        // release: pairs with the acquire in WaitQueue::Suspend. Publishes what was written before
        // the notification, and orders all accesses of this thread to the waiter before it.
        if (!LowerForWaiter(scheduler, waiter->counter, "the wake-up of a waiter"))
            waiter->wasRefused.store(true, kRelease);
        // From here on the waiter may be gone.
        waiter = next;
    }
}

}  // namespace weft::internal
