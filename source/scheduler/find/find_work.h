// What runs next: the one place that decides.
//
// The order. What is due comes first: deadlines are told, and what came from other threads goes to
// this worker's lanes. Then late work, as far as its share goes (aging.h). Then by priority: High,
// wherever it lies; Normal, and others' Normal tasks before own Low ones; Low, on the workers that
// run it. Within a priority: pinned fibers, pinned tasks, ready fibers, tasks; ready fibers oldest
// first, tasks newest first.
//
// That High goes first everywhere costs one load at each pick (Notices::HighWork). A pick that has
// begun may finish.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// What is this worker's to do: see above. High work of others is among it.
Found FindOwn(Worker *worker, WorkerMode mode) noexcept;

/// What FindOwn would return, if that is plain to see; else nothing. A ready fiber, for who leaves
/// its fiber: no loop is needed in between. The newest entry of small tasks, unless what is pending
/// must be lowered before it: it is taken, and is to be run right away.
Fiber *FindReady(Worker *worker) noexcept;
bool FindPlain(Worker *worker, TaskEntry &entry, Level &level) noexcept;

/// What has to have a turn before a task of this priority goes on (turn.h): deadlines, what came
/// from other threads, what is pinned here, and work of higher priority.
Found FindUrgent(Worker *worker, Priority priority) noexcept;

/// What a worker does that runs only what is pinned to it, because it is inactive or somebody
/// pumps: by priority, but tasks first when a fiber has yielded, and what is late (aging.h) before
/// all. Tasks only on a fiber of the pool.
Found FindPinned(Worker *worker) noexcept;

/// While somebody pumps: what is pinned to the worker, and when there is no more, or a fiber has
/// yielded, the one who pumps.
Found FindPumped(Worker *worker) noexcept;

}  // namespace weft::internal
