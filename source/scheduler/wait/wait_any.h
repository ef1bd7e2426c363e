// Waits for the first of several counters, or for a counter or a deadline.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns the number of the first counter that was at or below `value`. Returns `count` at the
/// deadline, or after a report. The caller is a task on `worker`.
uint32_t WaitAny(Worker *worker, uint32_t count, Counter *const *counters, uint32_t value = 0,
                 uint64_t deadline = Timers::kNever,
                 Meanwhile meanwhile = Meanwhile::AnyTask) noexcept;

/// The same for zero, for an external thread. Call it from inside the gate. It leaves the gate
/// while it sleeps, and comes back.
uint32_t WaitAnyExternal(EntryGate::Visit &visit, Scheduler &scheduler, uint32_t count,
                         Counter *const *counters, uint64_t deadline = Timers::kNever) noexcept;

}  // namespace weft::internal
