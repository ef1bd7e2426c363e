// The loop of a worker: what its fibers and its thread's own stack do between tasks.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The first function of every pool fiber. `arg` is the Fiber. Returns when the scheduler ends: the
/// context to continue in.
FiberContext *FiberMain(void *arg) noexcept;

/// The first function of the reserve stack of an attached thread. `arg` is its Fiber. Returns like
/// FiberMain.
FiberContext *ReserveMain(void *arg) noexcept;

/// Runs on the stack that a worker's thread came with. Lends the thread to a pool fiber. While none
/// is free, resumes ready fibers. Returns when the scheduler stops. `first`: the fiber to begin
/// with, or null.
void ThreadMain(Worker *worker, Fiber *first) noexcept;

}  // namespace weft::internal
