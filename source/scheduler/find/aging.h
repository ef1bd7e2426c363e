// Nothing starves, in time: a queue from which nobody has taken the oldest item for long gets a
// share of the workers' time.
//
// The queues are the lanes and the ready fibers of every worker, and what is pinned to a worker.
// Their order within one priority is newest first for tasks, and between priorities it is strict;
// so something else has to bound how long the oldest item waits.
//
// Every worker reads the clock now and then (Look). It inspects its own queues and those of one
// other worker. It goes on to the next worker after it has chosen each late queue of that one. A
// queue becomes late if its oldest item has not changed for half the bound
// (SchedulerOptions::agingMilliseconds). It stays late until all items that it held then have been
// taken.
//
// A worker that knows of a late queue earns credit: one sixth of the time that passes. While it has
// credit, it takes the queue's oldest item first. The time that the item takes is subtracted. Two
// late queues earn two sixths, three or more earn half of the time, and they take turns. So each
// late queue gets about a sixth of the time of each worker that knows of it: between an eighth and
// a quarter, because an item always runs to its end, and less if more than three queues are late.
//
// A late task for which no fiber is free is handed to a fiber that waits for it, if there is one
// (rescue.h); otherwise the next late queue has its turn.
//
// The bound. A look costs about a third of the shortest task. So while work items are short, a
// worker looks once in up to 32 picks (a pick is one search for the next item). When items are
// longer than 30 microseconds, it looks at each pick. The owner inspects each queue every 1/64 of
// the bound. So, with credit, an item begins at most 1/2 + 1/64 of the bound, plus the work between
// two looks, after it became the oldest. That work is one item. It can be 32 items once, if items
// suddenly become long.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Counts a pick, and looks at the clock now and then. Returns the oldest item of a late queue if a
/// look was due and there is credit; else nothing. `mode`: what the worker can do with it.
Found Late(Worker *worker, WorkerMode mode) noexcept;

/// The worker is between two looks, and knows of nothing late: the next pick may go without one.
inline bool IsBetweenLooks(const Worker *worker) noexcept { return worker->aging.picksToLook > 1; }
inline void CountPick(Worker *worker) noexcept { --worker->aging.picksToLook; }

}  // namespace weft::internal
