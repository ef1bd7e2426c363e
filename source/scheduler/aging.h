// Nothing starves, in time: a queue from which nobody has taken the oldest item for long gets a share of the workers' time.
//
// The queues are the lanes and the ready fibers of every worker, and what is pinned to a worker. Their order within one priority
// is newest first for tasks, and between priorities it is strict; so something else has to bound how long the oldest item waits.
//
// Every worker looks at the clock now and then (Look), and inspects its own queues and those of one other worker. The other one is the
// next one when each late queue of it has been chosen. A
// queue becomes late if its oldest item has not changed for half the bound (SchedulerOptions::agingMilliseconds). It stays
// late until all items that it held then have been taken. A worker that knows of a late queue has credit for a sixth of the
// time that passes, and with credit it takes the oldest item first. What that item takes is paid from the credit. Two late
// queues have two sixths, and three or more have half of the time; they take turns. So a late queue gets a sixth of the time
// of each worker that knows of it: between an eighth and a quarter, as one item is never cut, and less if more than three
// queues are late.
//
// A late task for which no fiber is free is handed to a fiber that waits for it, if there is one (rescue.h); otherwise the next late queue
// has its turn.
//
// The bound. A look costs as much as a third of the shortest task, so while pieces of work are short there is one in up to 32
// picks, and as soon as they are longer than 30 microseconds there is one at each. A queue is inspected by its owner every
// 64th part of the bound. So, if there is credit, an item begins at most 1/2 + 1/64 of the bound, plus the work between two
// looks, after it became the oldest. The work between two looks is one piece, or once, when pieces suddenly become long, 32
// of them.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Counts a pick, and looks at the clock now and then. Returns the oldest item of a late queue if a look was due and there is
/// credit; else nothing. `ability`: what the worker can do with it.
Found Late(Worker *worker, Ability ability) noexcept;

/// The worker is between two looks, and knows of nothing late: the next pick may go without one.
inline bool IsBetweenLooks(const Worker *worker) noexcept { return worker->aging.picksToLook > 1; }
inline void CountPick(Worker *worker) noexcept { --worker->aging.picksToLook; }

}  // namespace weft::internal
