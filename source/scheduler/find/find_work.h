// Decides what a worker runs next. No other file decides this.
//
// The order is:
// 1. Due deadlines are handled, and work from external threads moves to this worker's lanes
//    (arrivals.h).
// 2. Late work, up to its share of the time (aging.h).
// 3. High work, even if it lies with another worker.
// 4. Normal work. If the worker itself holds Low work, it takes other workers' Normal tasks first.
// 5. Low work, on the workers that run it.
//
// Within a priority: pinned fibers, pinned tasks, ready fibers, tasks. Ready fibers go oldest
// first, tasks newest first.
//
// To let High work go first everywhere costs one load at each pick (Notices::HighWork). A pick that
// has begun may finish although High work comes meanwhile.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Finds the next work for this worker in the order above: its own work, and High work of other
/// workers. `mode`: what the worker can run.
Found FindOwn(Worker *worker, WorkerMode mode) noexcept;

/// A fast form of FindOwn for a caller that suspends its fiber: returns the ready fiber that
/// FindOwn would return, if a few checks suffice to know it; else null. The caller switches to it
/// without a loop in between.
Fiber *FindReady(Worker *worker) noexcept;
/// A fast form of FindOwn for a loop: takes the newest small task if FindOwn would take it and a
/// few checks suffice to know that. The caller must run it at once. Takes nothing if pending
/// decrements must be carried out before that task runs.
bool FindPlain(Worker *worker, TaskEntry &entry, Level &level) noexcept;

/// Finds urgent work: work that must run before a task of this priority continues (wait/urgent.h).
/// This is work from external threads and pinned work, both of at least this priority, and work of
/// higher priority. Also handles due deadlines.
Found FindUrgent(Worker *worker, Priority priority) noexcept;

/// Finds the next work for a worker that runs only what is pinned to it, because it is inactive or
/// because a fiber pumps (RunPinnedTasks). Late work goes first (aging.h), then work by priority.
/// After a fiber has yielded, tasks go first. Takes tasks only if the caller runs on a fiber of the
/// pool.
Found FindPinned(Worker *worker) noexcept;

/// Finds the next work while a fiber pumps: work that is pinned to the worker. Returns the fiber
/// that pumps if there is no more such work, if its limit is reached, or if a fiber has yielded.
Found FindPumped(Worker *worker) noexcept;

}  // namespace weft::internal
