// Waiting for the first of several counters, or for a counter or a deadline.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// A place for one such wait, with a record on each counter. The caller then waits for AnyWait::gate and calls
/// EndAnyWait. Without memory for records (reported) the gate is open, and no counter was first. `value`: what is waited for.
uint32_t BeginAnyWait(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *const *counters,
                      uint32_t value = 0) noexcept;

/// Takes the records off the counters that are not zero, and returns which was zero first; count if none was.
uint32_t EndAnyWait(Scheduler &scheduler, Worker *worker, uint32_t place, uint32_t count,
                    Counter *const *counters) noexcept;

/// The owner of a record was woken: its counter is zero.
void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept;

/// Returns once the counter was at or below `value`, or at the deadline: then false. The caller is a task on `worker`.
bool WaitUntil(Worker *worker, Counter &counter, uint32_t value, uint64_t deadline) noexcept;

/// Returns at the deadline.
void SleepUntil(Worker *worker, uint64_t deadline) noexcept;

}  // namespace weft::internal
