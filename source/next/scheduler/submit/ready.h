// Makes fibers ready.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The fiber may continue. It goes to the deque of `worker`, to the inbox of the worker that it is
/// pinned to, or to the injector; or `worker` hides it, to continue it next (HandOver). It inherits
/// the highest priority of the waiters for its tasks. `worker`: the caller's, or null. The fiber
/// may run at once.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber) noexcept;

/// Pushes the fiber that this worker hides to its own deque, where others can take it.
void ShowHandOver(Worker &worker) noexcept;

}  // namespace weft::internal
