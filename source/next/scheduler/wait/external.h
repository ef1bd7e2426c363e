// Waits of external threads. Such a thread is a guest while it waits: it is outside of the gate,
// and the run does not end before it has come back.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

void BecomeGuest(Scheduler &scheduler) noexcept;
void CeaseGuest(Scheduler &scheduler) noexcept;

/// Sleeps until the counter was at or below `value`, or until the deadline. Returns false after the
/// deadline, or after a report. The caller is inside the gate.
bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                  uint64_t deadline = Timers::kNever) noexcept;

/// Sleeps until no thread is attached.
void AwaitDetached(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
