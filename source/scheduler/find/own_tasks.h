// Finds work for a worker while one of its tasks waits with Meanwhile::OwnTasks. The worker runs
// only what that wait depends on. serving.h decides what that is.
//
// The search goes in this order:
// 1. The waiter runs tasks of its counter inline, as in every wait for zero (run_inline.h).
// 2. The worker takes pinned work that the wait depends on.
// 3. The worker checks the oldest task of each lane of every worker, and takes it if it belongs to
//    the awaited counter.
// 4. All other work is left to open workers. A worker is open if it is active, is not an attached
//    thread, runs all levels that this worker runs, and no wait restricts it. If no worker is open,
//    this worker goes through the ready fibers and tasks in the queues of all workers (Dig). It
//    takes the first one that the wait depends on, and moves the others to the newest end of its
//    own queues.
//
// An open worker may be busy for long, or block in a system call for something that the waiter
// holds. So the worker digs at intervals in any case. The first dig comes 100 us after the wait has
// begun. While digs find nothing, the interval doubles up to 2 ms. It is eight times as long as the
// last dig took, if that is longer. In between the worker sleeps. So a task that only this worker
// can run begins in bounded time without a wake-up.
//
// Two things make such a task begin sooner. A submission that could wake no other worker wakes this
// one if no worker is open, or if this worker waits for the task's counter. And before it sleeps,
// this worker checks once more for tasks of the counter (AnyAwaited): idle_set.h has the proof.
//
// A fiber or task that the worker holds lies in no queue. Another worker may search, miss it, and
// go to sleep. So a worker that has moved items wakes a sleeper at the end (WakeOther).
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Begins a wait with OwnTasks on the worker. `wait` lies on the waiter's stack.
void BeginOwn(Worker *worker, OwnWait *wait) noexcept;

/// Finds a ready fiber or claims a task that the worker's innermost wait with OwnTasks depends on.
/// On a thread's own stack it finds only fibers.
Found FindServing(Worker *worker) noexcept;

/// Returns true if the oldest task of some lane belongs to the counter that the innermost wait with
/// OwnTasks waits for, and the worker may run it if it has a fiber. For the last check before
/// sleep.
bool AnyAwaited(const Worker *worker) noexcept;

/// The same as FindServing, but only among the work that is pinned to the worker.
Found FindPinnedServing(Worker *worker) noexcept;

}  // namespace weft::internal
