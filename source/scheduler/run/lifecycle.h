// Begins a run, starts and joins its threads, and ends it.
#pragma once

#include "weft/options.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

/// Does what TaskScheduler::Run does after the check of its arguments.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

/// Do what TaskScheduler::Start and Stop do. Stop returns when the run has ended.
Status StartScheduler(TaskScheduler &taskScheduler) noexcept;
void StopScheduler(TaskScheduler &taskScheduler) noexcept;

}  // namespace weft::internal
