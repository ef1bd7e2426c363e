// Threads that are no workers: how they wait, and how the end of a run waits for them.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// A guest keeps the run from ending: a thread that is attached, or blocks in a wait. From inside
/// the gate.
void BecomeGuest(Scheduler &scheduler) noexcept;
void CeaseGuest(Scheduler &scheduler) noexcept;

/// Blocks the calling thread until the counter was at or below `value`, or until the deadline: then
/// false. From inside the gate; goes out and comes back.
bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                  uint64_t deadline = Timers::kNever) noexcept;

/// Blocks until nobody is attached. For Stop, during which the memory stays.
void AwaitDetached(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
