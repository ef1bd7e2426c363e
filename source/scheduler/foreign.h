// Threads that are no workers: how they wait, and how the end of a run waits for them.
#pragma once

#include "scheduler/gate.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// A guest keeps the run from ending: a thread that is attached, or blocks in a wait. From inside
/// the gate.
void BecomeGuest(Scheduler &scheduler) noexcept;
void CeaseGuest(Scheduler &scheduler) noexcept;

/// Blocks the calling thread until the counter was at or below `value`, or until the deadline: then
/// false. From inside the gate; goes out and comes back.
bool WaitForeign(Gate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                 uint64_t deadline = Timers::kNever) noexcept;

/// Blocks until nobody is attached. For Stop, during which the memory stays.
void AwaitDetached(Scheduler &scheduler) noexcept;

/// WaitIdle of a thread that is no worker, from inside the gate, and of a task or an attached
/// thread.
void WaitIdleForeign(Gate::Visit &visit, Scheduler &scheduler) noexcept;
void WaitIdleHere(Worker *worker) noexcept;

/// If nothing is pending but tasks that are in WaitIdle, ends these and all other calls of it; true
/// if there were any.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// The calling worker goes on on its thread's own stack, with the host's work: it may have run the
/// last task, and will not come by where workers fall asleep and answer.
void AnswerBeforeHost(Worker *worker) noexcept;

}  // namespace weft::internal
