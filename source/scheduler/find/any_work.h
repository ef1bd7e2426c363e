// Whether there is anything to do, without taking it.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Last look of a worker that has announced that it will sleep: everything that could hold work for
/// it.
bool AnyWork(const Worker *worker, WorkerMode mode) noexcept;

/// Any small task in any lane; any Large one. seq_cst. For reports, and where a notice is hidden.
bool AnyTask(const Scheduler &scheduler) noexcept;
bool AnyLargeTask(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
