// Runs what is pinned to the calling thread (TaskScheduler::RunPinnedTasks).
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Runs up to `max` pieces of pinned work, and returns how many it ran.
uint32_t RunPinned(Worker &worker, uint32_t max) noexcept;

}  // namespace weft::internal
