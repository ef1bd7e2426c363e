// AddTasksAndWait: submits tasks and waits for them in one call.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Runs the first task on the caller's stack and publishes the others. Then waits for all of them.
void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept;

}  // namespace weft::internal
