#include "sync/called.h"

#include "scheduler/caller.h"

namespace weft::internal {

namespace {

// A scheduler whose run has ended since the waiter got in line lowers no counter.
bool Lower(TaskScheduler &scheduler, Counter &counter) noexcept {
    const Caller caller(scheduler, "the wake-up of a waiter");
    return caller.Running() != nullptr && caller.Lower(counter);
}

}  // namespace

void Called::Wake(TaskScheduler &scheduler) noexcept {
    for (Waiter *waiter = m_first; waiter != nullptr;) {
        Waiter *const next = waiter->nextToWake;
        // release: what was done before the call, and all that this has touched.
        if (!Lower(scheduler, waiter->counter)) waiter->wasRefused.store(true, kRelease);
        // From here on the waiter may be gone.
        waiter = next;
    }
}

}  // namespace weft::internal
