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

/// A wait for `counters[0]` by a task that ends, and goes on as another task. BeginWait puts a
/// record on the counter and sets a timer. Then `DoneCounterOf(scheduler, wait)` becomes zero at
/// the deadline at the latest. EndWait takes both back, on any worker, and returns true if the
/// counter was at or below `value`. `counters` must live until then. BeginWait returns false, after
/// a report, if there is no memory for a record.
struct AnyWaitOfTask {
    uint32_t wait = ~0u;
    uint32_t timer = ~0u;  // its number in Scheduler::timedTasks. ~0: no deadline.
};
bool BeginWait(Worker *worker, Counter *const *counters, uint32_t value, uint64_t deadline,
               AnyWaitOfTask &wait) noexcept;
bool EndWait(Worker *worker, Counter *const *counters, uint32_t value,
             const AnyWaitOfTask &wait) noexcept;
/// Returns the counter for which that task waits.
Counter &DoneCounterOf(Scheduler &scheduler, const AnyWaitOfTask &wait) noexcept;

}  // namespace weft::internal
