// What a worker's fibers do between tasks.
//
// A batch whose tasks each wait for the one before it ends with any pool that has four fibers for each worker, although thieves begin
// in its middle. Let e be the first task that has not begun. All before it have begun, so one of them can go on; in the end they have all
// ended. e is the newest task in the lane of some worker w: a lane holds a batch in its order, the earliest task on top, and a worker
// steals only when its lane is empty. If w has no fiber, it owns the fiber of the task t that it began last (fiber_pool.h), and t waits.
// t came from the same lane, on top of e, or it was the first task of the slice that w stole, which e belongs to: either way t comes before
// e. So t ends, its fiber comes back to w alone, and w begins e. Who goes through lanes without a fiber (rescue.h), and who serves
// a late lane (aging.h), leaves the order of what the worker has begun as it is. Not covered: a loop on a Large fiber that steals a
// small task, finds no small fiber and puts it into its own lane.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Start of every pool fiber; `arg` is the Fiber. Returns, when the scheduler ends, the context to go on in.
FiberContext *FiberMain(void *arg) noexcept;

/// Start of the reserve stack of an attached thread; `arg` is its Fiber. Returns like FiberMain.
FiberContext *ReserveMain(void *arg) noexcept;

/// What a worker does on the stack that its thread came with: lends the thread to a pool fiber; while there is none,
/// resumes ready fibers. Returns when the scheduler stops. `first`: a fiber to begin with, or null.
void ThreadMain(Worker *worker, Fiber *first) noexcept;

}  // namespace weft::internal
