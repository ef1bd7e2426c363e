// RunPinnedTasks: lets a task or an attached thread run the work that is pinned to its worker.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Runs at most `max` items that are pinned to the worker. Returns how many ran.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept;

}  // namespace weft::internal
