// Makes fibers ready.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The fiber may continue. It goes to the deque of `worker`, to the inbox of the worker that it is
/// pinned to, or to the injector. It inherits the highest priority of the waiters for its tasks.
/// `worker`: the caller's, or null. `picks`: the worker is about to pick. Then no sleeper is woken
/// for the fiber yet (HandOver). The fiber may run at once.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber, bool picks = false) noexcept;

/// Ends a hand-over: wakes others for the fiber (HandOver::isQuiet).
void EndQuiet(Worker &worker) noexcept;

}  // namespace weft::internal
