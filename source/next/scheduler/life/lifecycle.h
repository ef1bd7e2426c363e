// Begins and ends runs.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Implements TaskScheduler::Run. The options and the task have been checked.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

/// Implements TaskScheduler::Start.
Status StartScheduler(TaskScheduler &taskScheduler) noexcept;

/// Implements TaskScheduler::Stop, for a scheduler that was started. At `withdrawsAt` (or kNever)
/// withdraws what StopFor does. Returns true if all tasks have run.
bool StopScheduler(TaskScheduler &taskScheduler, uint64_t withdrawsAt) noexcept;

}  // namespace weft::internal
