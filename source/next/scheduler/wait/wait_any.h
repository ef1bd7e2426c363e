// Waits until one of several counters is zero.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

inline constexpr uint32_t kMaxOfAny = 4096;

/// Waits on the calling task's fiber. Returns the index of the first counter that was zero, or
/// `count` at the deadline or after a report.
uint32_t WaitAny(Worker &worker, uint32_t count, Counter *const *counters,
                 uint64_t deadline = Timers::kNever) noexcept;

/// The same for an external thread, which is inside the gate.
uint32_t WaitAnyExternal(EntryGate::Visit &visit, Scheduler &scheduler, uint32_t count,
                         Counter *const *counters, uint64_t deadline = Timers::kNever) noexcept;

}  // namespace weft::internal
