// Creates a scheduler from its options, and deletes it.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Creates a scheduler that is ready to run, but has no threads yet. If a resource is missing,
/// returns null and sets `status` to the reason.
Scheduler *NewScheduler(TaskScheduler &taskScheduler, Status &status) noexcept;

/// Gives all resources back. No thread and no fiber may run in the scheduler any more.
void DeleteScheduler(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
