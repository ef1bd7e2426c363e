// Begins and ends runs.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Implements TaskScheduler::Run. The options and the task have been checked.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

}  // namespace weft::internal
