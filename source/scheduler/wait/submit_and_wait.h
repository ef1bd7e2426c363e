// AddTasksAndWait: submitting tasks and waiting for them in one call.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Runs the first task on the caller's stack and publishes the others; then waits for them.
void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept;

}  // namespace weft::internal
