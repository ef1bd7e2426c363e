// Leaves a fiber for another one.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The function of each fiber of the pool: runs work until the scheduler ends (run_work.cc).
FiberContext *FiberMain(void *fiber) noexcept;

/// Takes a free fiber of the pool. Returns null if there is none.
Fiber *AcquireFiber(Worker &worker) noexcept;

/// Leaves `from` for `to`, on the worker's thread. Returns when some worker continues `from`.
/// `destination`: where `from` goes. The worker's claim must be empty.
void SwitchTo(Fiber &from, Fiber &to, Destination destination) noexcept;

/// The first act of each context: carries out the destination of the fiber that was left.
void FinishSwitch(Worker &worker) noexcept;

/// Switches to the next work, or to a fiber that looks for some. Without a free fiber, see
/// WithoutFiber: then `self` may stay.
void Suspend(Fiber &self, Destination destination) noexcept;

}  // namespace weft::internal
