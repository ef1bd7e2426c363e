// Submits tasks on a worker.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Raises `counter` by `count`, and makes copies of the tasks visible with one publication in the
/// calling worker's lane; tasks that are pinned go to their worker's inbox. The arguments have been
/// checked. Returns false, after a report, if the counter refused that; then nothing was submitted.
bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept;

/// Submit for one task that is not pinned.
void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept;

}  // namespace weft::internal
