// Counts the ExternalWork of a scheduler. While the count is not zero, no stall is reported.
#include "weft/external_work.h"

#include "scheduler/state/entry_gate.h"

namespace weft {

using namespace internal;

// relaxed: a worker whose task waits for this work announces later that it sleeps. The last worker
// that announces checks for a stall. It has read the other announcements (acquire), so it sees this
// increment.
void ExternalWork::Begin(TaskScheduler &scheduler) noexcept {
    EntryGate::StateOf(scheduler).outside.fetch_add(1, kRelaxed);
}

// release: a worker that sees this decrement also sees that the waiter's worker was woken.
void ExternalWork::End(TaskScheduler &scheduler) noexcept {
    EntryGate::StateOf(scheduler).outside.fetch_sub(1, kRelease);
}

}  // namespace weft
