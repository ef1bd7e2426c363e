// Leaves a fiber for another one.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The function of each fiber of the pool: runs work until the scheduler ends (run_work.cpp).
FiberContext *FiberMain(void *fiber) noexcept;

/// Takes a free fiber of the pool. Returns null if there is none.
Fiber *AcquireFiber(Worker &worker) noexcept;

/// Leaves `from` for `to`, on the worker's thread. Returns when some worker continues `from`.
/// `destination`: where `from` goes. The worker's claim must be empty.
void SwitchTo(Fiber &from, Fiber &to, Destination destination) noexcept;

/// The first act of each context: carries out the destination of the fiber that was left.
void FinishSwitch(Worker &worker) noexcept;

/// Leaves `self` for the next work, or for a free fiber that searches. If no fiber is free, `self`
/// may run the work itself and is not left (WithoutFiber).
void Suspend(Fiber &self, Destination destination) noexcept;

}  // namespace weft::internal
