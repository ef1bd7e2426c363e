// RunPinnedTasks: a task or an attached thread runs what is pinned to its worker.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Runs what is pinned to the worker, at most `max`; returns how many.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept;

}  // namespace weft::internal
