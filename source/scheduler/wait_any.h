// Waiting for the first of several counters, or for a counter or a deadline.
#pragma once

#include "scheduler/gate.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// Returns once one of the counters was at or below `value`, and which; `count` at the deadline, or
/// after a report. The caller is a task on `worker`.
uint32_t WaitAny(Worker *worker, uint32_t count, Counter *const *counters, uint32_t value = 0,
                 uint64_t deadline = Timers::kNever,
                 Meanwhile meanwhile = Meanwhile::AnyTask) noexcept;

/// The same for zero, by a thread that is no worker, from inside the gate; goes out and comes back.
uint32_t WaitAnyForeign(Gate::Visit &visit, Scheduler &scheduler, uint32_t count,
                        Counter *const *counters, uint64_t deadline = Timers::kNever) noexcept;

/// The owner of a record was woken: its counter is zero.
void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept;

/// Returns at the deadline.
void SleepUntil(Worker *worker, uint64_t deadline) noexcept;

/// What the waiter itself waits for on whose behalf a record with this kAnyOwner stands on a
/// counter. It must stay there meanwhile.
Counter &GateOf(Scheduler &scheduler, uint32_t owner) noexcept;

/// What the fiber waits for that waits, with a deadline, for zero of the counter on which a record
/// with this owner stands; null if it is no such record. It must stay on the counter meanwhile.
Counter *GateOfOne(Scheduler &scheduler, uint32_t owner) noexcept;

}  // namespace weft::internal
