// The choices of a run with an order (state/order.h): what runs next, and when a deadline falls
// due. They stand in place of the usual order and go through the same places.
//
// With several workers, tasks may begin and continue in any order, whatever their priority: the
// system may stop any thread at any time. So each entry that may run now is equally likely to be
// the next one. These stay as they are: pinned tasks of one priority begin in their order; a wait
// with Meanwhile runs only what it allows.
//
// Only the attached thread takes entries, so it may put entries back while it looks for the chosen
// one. The run does not depend on the real time: chunks have one task, the search before sleep ends
// at once, and deadlines are due only when a choice has let them fall due (Order::settled).
#pragma once

#include "scheduler/state/order.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Begins to draw if the options ask for it. Returns false if there is no memory.
bool BeginOrder(Scheduler &scheduler) noexcept;
void EndOrder(Scheduler &scheduler) noexcept;

/// NextWork with an order.
Work DrawNext(Worker &worker) noexcept;

/// For a task that could go on: draws whether other work goes first.
bool DrawPoint(Worker &worker) noexcept;

/// For a waiter: draws whether it runs a task of the counter inline, and takes it. `levels`: from
/// which it may take one.
bool DrawInline(Worker &worker, const Counter &counter, uint32_t levels, Entry &entry) noexcept;

/// The worker has nothing to run. Lets the earliest deadline fall due. If there is none and nothing
/// outside can wake the worker, gives the run up: then Order::host continues, or the process ends.
/// Returns false if the worker has to sleep.
bool PassTime(Worker &worker) noexcept;

}  // namespace weft::internal
