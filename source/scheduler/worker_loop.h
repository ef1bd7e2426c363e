// What a worker's fibers do between tasks.
//
// A batch whose tasks each wait for the one before it ends with any pool that has four fibers for each worker, although thieves begin
// in its middle. Let all fibers wait but for those of the workers that run tasks, and let e be the first task that has not begun. All tasks
// before e have begun, so one of them can go on; in the end they have all ended. e is the newest task in the lane of some worker w, since a
// lane holds the tasks of a batch in their order, newest first is the earliest, and a worker steals only when its lane is empty. If w has
// no fiber, its own fiber is with a task that it began before and that waits. w took that task from the same lane before e, so it comes
// before e in the batch; or w began it before it stole e's slice, but whoever steals a slice begins with its first task at once. So that
// task ends, its fiber comes back to w alone, and w begins e. Late tasks (aging.h) are not begun on a worker's own fiber,
// and who goes through lanes for which there is no fiber (rescue.h) leaves their order as it is.
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
