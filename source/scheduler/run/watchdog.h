// The watchdog: a thread that reports if no task ends for a long time.
//
// The last worker that falls asleep sees a stall (find/stall.h). But if a task never ends, or
// blocks its thread for long, its worker does not fall asleep, and no worker checks anything. So
// this thread checks, four times in SchedulerOptions::watchdogMilliseconds. It reports, once a run,
// if for that time no task has finished, tasks are pending, and at each check some worker or
// attached thread was awake. The report is late by at most a fourth of watchdogMilliseconds.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Starts the thread if the options ask for it. Returns false if the system refuses: then the run
/// does not begin (ThreadFailed).
bool StartWatchdog(Scheduler &scheduler) noexcept;

/// Ends the thread if it runs, and waits for its end.
void EndWatchdog(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
