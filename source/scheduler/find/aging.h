// Aging: bounds how long work waits. A queue whose oldest item has waited for long gets a share of
// the workers' time.
//
// Terms:
// - A queue is a lane or the ready fibers of one level, of any worker; or the pinned work of one
//   priority, of the worker itself.
// - A pick is one search for the next item.
// - A look reads the clock, once in several picks. An inspection is a part of some looks: it checks
//   the age of queues.
// - A queue becomes late if its oldest item has not changed for half the bound
//   (SchedulerOptions::agingMilliseconds). It stays late until all items that it held then have
//   been taken.
// - Credit is the time that a worker may spend on late queues now.
//
// Why aging is needed. Within one priority tasks go newest first, and between priorities the order
// is strict. So neither bounds how long the oldest item waits.
//
// How late queues are found. A worker inspects its own queues and those of one other worker. It
// moves on to the next worker after it has chosen each late queue of that one.
//
// How late queues are served. A worker that knows of a late queue earns credit: one sixth of the
// time that passes. While it has credit, it takes the queue's oldest item first. The time that the
// item takes is subtracted. Two late queues earn two sixths, three or more earn half of the time,
// and they take turns. So each late queue gets about a sixth of the time of each worker that knows
// of it: between an eighth and a quarter, because an item always runs to its end, and less if more
// than three queues are late.
//
// A late task for which no fiber is free is handed to a fiber that waits for it, if there is one
// (rescue.h). Otherwise the next late queue has its turn.
//
// The bound. A look costs about a third of the shortest task. So while items are short, a worker
// looks once in up to 32 picks. When items are longer than 30 microseconds, it looks at each pick.
// The owner inspects each queue every 1/64 of the bound. So, with credit, an item begins at most
// 1/2 + 1/64 of the bound, plus the work between two looks, after it became the oldest. That work
// is one item. It can be 32 items once, if items suddenly become long.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Counts a pick, and looks at the clock now and then. Takes the oldest item of a late queue if a
/// look was due and there is credit. Finds nothing otherwise. `mode`: what the worker can run.
Found Late(Worker *worker, WorkerMode mode) noexcept;

/// Returns true if the worker is between two looks and knows of no late queue: then the next pick
/// needs no look.
inline bool IsBetweenLooks(const Worker *worker) noexcept { return worker->aging.picksToLook > 1; }
/// Counts a pick that needs no look.
inline void CountPick(Worker *worker) noexcept { --worker->aging.picksToLook; }

}  // namespace weft::internal
