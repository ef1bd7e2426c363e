// Stalls: nothing goes on by itself any more, or a class of fibers is too small for anything of it to go on.
//
// A stall is told once a run, and only when it has lasted for SchedulerOptions::stallMilliseconds: a thread may just be about
// to lower a counter, or have been preempted while it holds a lock. The worker that is the last to fall asleep looks whether
// this is a stall, and sets a timer. When the timer has fired and all sleep again, it looks whether the stall is the same, and no fiber
// has run in between (Progress). It looks four times before a stall is reported, so a stall is reported at most a quarter of
// that time late. Where a deadline comes before that, something goes on by itself.
//
// While others go on, the lanes of a class may be stuck all the same. That is seen where queues are inspected (aging.h): the stall is
// reported if each inspection finds the same task there and every fiber of the class with a task that waits.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// All workers have announced that they sleep.
bool AllAsleep(const Scheduler &scheduler) noexcept;

/// The calling worker has announced, and all are asleep.
void WatchForStall(Worker *worker) noexcept;

/// The oldest task of a lane of the class has waited for long. Reports if no fiber of the class can go on, for so long as a stall lasts.
void WatchLateLane(const Worker *worker, QueueAge &age, StackClass stack) noexcept;

}  // namespace weft::internal
