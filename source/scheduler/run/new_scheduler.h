// All that a scheduler consists of, from options to what is ready to run, and back.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Ready to run, but for its threads. Null, and why, if there is not enough of something.
Scheduler *NewScheduler(TaskScheduler &taskScheduler, Status &status) noexcept;

/// Gives everything back. No thread and no fiber runs in it any more.
void DeleteScheduler(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
