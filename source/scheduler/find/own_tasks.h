// What a worker runs while one of its tasks waits with Meanwhile::OwnTasks: only what that wait
// depends on.
//
// A wait depends on the tasks of its counter; on the tasks of each counter that such a task waits
// for; on the tasks of each counter that such a task must follow, if it is deferred (deferred.h);
// and so on.
//
// To decide whether a wait depends on a given task, we climb. We start at the task's counter and
// ask each fiber or deferred task that waits for it. From each of these we go on to the counters
// that count it. The answer is yes if we reach the fiber that waits. The caller must hold the task:
// nobody else can take it. A held task has not finished, so its counter exists and stays above
// zero. While we ask about a waiter, its record is not given back, so it cannot be woken. It does
// not run, so it has not finished, and the counters that count it exist, too. The same argument
// holds for each further step. Only one worker climbs at a time, as counters may wait for each
// other in a circle.
//
// First the waiter runs tasks of its counter on its own stack, as in every wait for zero (help.h).
// Then its worker looks at what is pinned to it and takes something that the wait depends on. Then
// it looks at the oldest task of each lane of every worker, and takes it if it belongs to the
// awaited counter. All other work is left to open workers. A worker is open if it is active, is no
// attached thread, may run Low tasks, and no wait restricts it. If no worker is open, the worker
// goes through the ready fibers and tasks in the queues of all workers (Dig). Whatever its wait
// does not depend on it moves to the newest end of its own queues.
//
// An open worker may be busy for long, or wait in the system for what the waiter holds. So the
// worker goes through the queues in any case from time to time: 100 us after the wait has begun,
// then after twice the time, up to 2 ms, as long as it finds nothing; but a dig waits for eight
// times as long as the last one took. In between it sleeps. This bounds how late a task begins that
// only this worker can run, so no wake-up is needed for it. Submissions wake the worker
// nevertheless if nobody else could be woken and no worker is open.
//
// While an item is held it lies in no queue. A worker may look, miss it, and go to sleep. So
// whoever has moved something wakes a sleeper at the end (WakeOther).
//
// Other dependencies are not known here: a counter that is lowered by hand (DecrementCounter), a
// lock, an event; nor a dependency by way of more than 40 waits. Stalled is reported if no other
// worker runs what would end such a wait.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// A wait with OwnTasks begins on the worker.
void BeginOwn(Worker *worker, OwnWait *wait) noexcept;

/// Finds a ready fiber or claims a task that the worker's innermost wait with OwnTasks depends on.
/// On a thread's own stack it looks for fibers only.
Found FindServing(Worker *worker) noexcept;

/// The same among what is pinned to the worker.
Found FindPinnedServing(Worker *worker) noexcept;

}  // namespace weft::internal
