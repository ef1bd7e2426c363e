// Makes fibers ready.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The fiber may continue. It goes to the deque of `worker`, to the inbox of the worker that it is
/// pinned to, or to the injector. It inherits the highest priority of the waiters for its tasks.
/// `worker`: the caller's, or null. `picks`: the worker picks its next work soon. Then it may keep
/// its sleeping neighbours asleep (HandOver). The fiber may run at once.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber, bool picks = false) noexcept;

/// Wakes others for the fiber for which this worker has woken nobody, because it will not continue
/// the fiber next.
void EndQuiet(Worker &worker) noexcept;

}  // namespace weft::internal
