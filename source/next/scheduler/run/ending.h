// The end of a run.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The main task has returned, or Stop was called: the run ends when nothing is pending.
void WantEnd(Scheduler &scheduler) noexcept;

/// Ends the run if nothing is pending, no external thread is inside a call or waits, and the end is
/// wanted. Returns true if the run is over.
bool EndRun(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
