// External threads: how they wait, and how the end of a run waits for them.
//
// The gate is in entry_gate.h. A guest is a thread that is attached, blocks in a wait, or is in
// onReport. It is not inside the gate, but it keeps the run from ending.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Makes the calling thread a guest, or ends that. Call both from inside the gate.
void BecomeGuest(Scheduler &scheduler) noexcept;
void CeaseGuest(Scheduler &scheduler) noexcept;

/// Blocks the calling thread until the counter was at or below `value`, or until the deadline.
/// Returns false after the deadline, or after a report. Call it from inside the gate. It leaves the
/// gate while it sleeps, and comes back.
bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                  uint64_t deadline = Timers::kNever) noexcept;

/// Blocks until no thread is attached. For Stop, during which the memory stays.
void AwaitDetached(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
