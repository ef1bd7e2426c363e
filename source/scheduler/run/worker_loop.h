// What a worker's fibers do between tasks.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Start of every pool fiber; `arg` is the Fiber. Returns, when the scheduler ends, the context to
/// go on in.
FiberContext *FiberMain(void *arg) noexcept;

/// Start of the reserve stack of an attached thread; `arg` is its Fiber. Returns like FiberMain.
FiberContext *ReserveMain(void *arg) noexcept;

/// What a worker does on the stack that its thread came with: lends the thread to a pool fiber;
/// while there is none, resumes ready fibers. Returns when the scheduler stops. `first`: a fiber to
/// begin with, or null.
void ThreadMain(Worker *worker, Fiber *first) noexcept;

}  // namespace weft::internal
