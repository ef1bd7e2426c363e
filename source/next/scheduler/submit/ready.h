// Makes fibers ready.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The fiber may continue. It goes to the deque of `worker`, to the inbox of the worker that it is
/// pinned to, or to the injector. Its level becomes the higher of its own and those that the
/// waiters for its task have. `worker`: the caller's, or null. The fiber may run at once.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber) noexcept;

/// Shows the fiber that this worker hides, because it does not continue it next.
void ShowHandOver(Worker &worker) noexcept;

}  // namespace weft::internal
