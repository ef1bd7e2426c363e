// The watchdog: a thread that reports if no task ends for a long time.
//
// A stall (find/stall.h) is seen by the last worker that falls asleep. But if a task never ends, or
// blocks its thread for long, its worker does not fall asleep, and no worker checks anything. So
// this thread looks, four times in SchedulerOptions::watchdogMilliseconds. It reports if for that
// time no task has finished, tasks are pending, and at each look some worker or attached thread was
// awake. So the report comes at most a quarter of the time late.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Starts the thread if the options want it. Returns false if the system refuses.
bool StartWatchdog(Scheduler &scheduler) noexcept;

/// Ends the thread if it runs, and waits for its end.
void EndWatchdog(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
