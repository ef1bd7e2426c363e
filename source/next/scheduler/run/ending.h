// The end of a run.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The main task has returned, or Stop was called: the run ends when nothing is pending. `worker`:
/// the caller's, or null. `withdrawsAt`: when StopFor withdraws tasks, or kNever.
void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt = Timers::kNever) noexcept;

/// Sets the timer of an end that takes long (diagnose/late_end.cc).
void SetEndTimer(Scheduler &scheduler, Worker *worker, uint64_t deadline) noexcept;

/// Ends the run if nothing is pending, no external thread is inside a call or waits, and the end is
/// wanted. Returns true if the run is over.
bool EndRun(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
