// Checks whether there is work, without taking it.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The last check of a worker that has announced that it will sleep. Checks everything that could
/// hold work for this worker in this mode.
bool AnyWork(const Worker *worker, WorkerMode mode) noexcept;

/// Returns true if a lane of any worker holds a small task (seq_cst), or if a worker went to sleep
/// with pinned tasks that it has no fiber for (Worker::keepsTasks). For reports.
bool AnyTask(const Scheduler &scheduler) noexcept;
/// Returns true if a lane of any worker holds a Large task. seq_cst, for reports and for a caller
/// that hides the notice of Large work.
bool AnyLargeTask(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
