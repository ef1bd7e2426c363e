// What happens if no fiber is free. A worker can then continue ready fibers, and it can run a task
// on a fiber that waits for it (a rescue). All other tasks have to wait.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns a fiber that waits for the task, directly or through other tasks. It has the work then,
/// and runs it before it goes on waiting. Returns null if there is none: the work is the caller's.
Fiber *Rescue(Worker &worker, const Work &work) noexcept;

/// Sends work that cannot begin now behind all others.
void PutBehind(Worker &worker, const Work &work) noexcept;

/// `self` is about to be left, but no fiber is free to begin `work` (which may be nothing). Returns
/// the fiber that the worker continues with: `self` if it has taken the work itself (see
/// Fiber::start) and is not left; otherwise one that waits, or the thread's own stack.
Fiber *WithoutFiber(Fiber &self, Destination destination, const Work &work) noexcept;

}  // namespace weft::internal
