// Finds stalls and reports them. In a stall nothing can continue without the host, or no task of a
// stack class can begin because all fibers of the class belong to tasks that wait.
//
// Each kind of stall is reported once a run, and only when it has lasted for
// SchedulerOptions::stallMilliseconds. A shorter pause may be harmless: a thread may be about to
// lower a counter, or the system may have preempted it while it holds a lock.
//
// The last worker to fall asleep checks whether there is a stall; if so, it sets a timer. After the
// timer the last worker to fall asleep checks again. The stall must be of the same kind, and no
// fiber may have run in between (Progress). There are four such checks in stallMilliseconds, so a
// report is at most a quarter of that time late. Only one worker checks at a time. If another one
// becomes the last to fall asleep meanwhile, the first one checks again. If a deadline comes before
// the time is over, work continues by itself, and there is no stall.
//
// One stack class can be stuck while workers continue with other tasks. The inspection of queues
// (aging.h) finds that. It reports a stall if for stallMilliseconds each inspection finds the same
// task in a lane of the class, and every fiber of the class with a task that waits.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns true if all workers and attached threads have announced that they sleep.
bool AllAsleep(const Scheduler &scheduler) noexcept;

/// Checks for a stall, and for an end that is delayed. Call it when the calling worker has
/// announced that it sleeps, and all others have, too, or the end of the run is wanted.
void WatchForStall(Worker *worker) noexcept;

/// Call when the oldest task of a lane of the class has waited for long. Reports if no fiber of the
/// class could continue for stallMilliseconds.
void WatchLateLane(const Worker *worker, QueueAge &age, StackClass stack) noexcept;

}  // namespace weft::internal
