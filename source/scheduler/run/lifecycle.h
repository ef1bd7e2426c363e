// Begins a run, starts and joins its threads, and ends it.
#pragma once

#include "weft/options.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

/// Does what TaskScheduler::Run does after the check of its arguments.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

/// Do what TaskScheduler::Start and Stop do. Stop returns when the run has ended. At `withdrawsAt`
/// it withdraws what StopFor does. Returns true if all tasks have run.
Status StartScheduler(TaskScheduler &taskScheduler) noexcept;
bool StopScheduler(TaskScheduler &taskScheduler, uint64_t withdrawsAt) noexcept;

}  // namespace weft::internal
