// The choices of a run with an order (state/order.h): what runs next, and when a deadline falls
// due.
//
// With several workers, tasks may begin and continue in any order, whatever their priority: the
// system may stop any thread at any time. So each item that may run now is equally likely to be the
// next one. These stay as they are: pinned tasks of one priority begin in their order; a wait with
// Meanwhile runs only what it allows.
//
// Only the attached thread takes items, so it may put items back while it looks for the chosen one.
//
// The run does not depend on the real time. Where other code reads the clock, the result is the
// same:
// - Aging and back-off are not used.
// - Without workers, a claim has one task, and no decrement is delayed.
// - The search before sleep ends at once (as with IdlePolicy::Sleep). If nothing can run, it draws
//   nothing.
// - A wait with OwnTasks searches all queues each time (own_tasks.h), because there is no other
// worker.
// - Deadlines are compared with the virtual time (TimeOf). They are handled only after a
//   pick has let them fall due.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// FindOwn with an order.
Found FindOrdered(Worker *worker, WorkerMode mode) noexcept;

/// FindPinned with an order, for a fiber that pumps.
Found FindPinnedOrdered(Worker *worker) noexcept;

/// For a task that could go on: draws whether other work goes first, and finds it.
Found FindInstead(Worker *worker) noexcept;

/// For a waiter: draws whether it runs a task of the counter inline, and claims that task. `most`:
/// the largest class that may run.
bool FindOfCounterOrdered(Worker *worker, Counter *counter, StackClass most) noexcept;

/// Call when the run can never end: `how` says why. Returns if the host is to continue in place of
/// the tasks (Order::host): the caller must switch to it. Otherwise reports that, and aborts.
void GiveUp(Worker *worker, const char *how) noexcept;

}  // namespace weft::internal
