// Finds stalls and reports them. In a stall nothing can go on without the host, or no task of a
// stack class can begin because all fibers of the class are with tasks that wait.
//
// Each kind of stall is reported once a run, and only when it has lasted for
// SchedulerOptions::stallMilliseconds. A shorter pause may be harmless: a thread may be about to
// lower a counter, or have been preempted while it holds a lock. The last worker to fall asleep
// checks whether there is a stall; if so, it sets a timer. After the timer the last worker to fall
// asleep checks again: the stall must be of the same kind, and no fiber may have run in between
// (Progress). There are four such checks in stallMilliseconds, so a report is at most a quarter of
// that time late. Only one worker checks at a time. If another one becomes the last to fall asleep
// meanwhile, the first one checks again. If a deadline comes before the time is over, work goes on
// by itself, and there is no stall.
//
// One stack class can be stuck while workers go on with other tasks. The inspection of queues
// (aging.h) finds that. It reports a stall if for stallMilliseconds each inspection finds the same
// task in a lane of the class, and every fiber of the class with a task that waits.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// All workers have announced that they sleep.
bool AllAsleep(const Scheduler &scheduler) noexcept;

/// Looks for a stall and for a delayed end. The calling worker has announced that it sleeps; all
/// are asleep, or the end is wanted.
void WatchForStall(Worker *worker) noexcept;

/// The oldest task of a lane of the class has waited for long. Reports if no fiber of the class can
/// go on, for so long as a stall lasts.
void WatchLateLane(const Worker *worker, QueueAge &age, StackClass stack) noexcept;

}  // namespace weft::internal
