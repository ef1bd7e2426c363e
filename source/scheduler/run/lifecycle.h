// The beginning of a run, its threads, and its end.
#pragma once

#include "weft/options.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

/// What TaskScheduler::Run does once its arguments are checked.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

/// What TaskScheduler::Start does, and Stop, which returns when all is over.
Status StartScheduler(TaskScheduler &taskScheduler) noexcept;
void StopScheduler(TaskScheduler &taskScheduler) noexcept;

}  // namespace weft::internal
