// Whether there is anything to do, without taking it.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Last look of a worker that has announced that it will sleep: everything that could hold work for it.
bool AnyWork(const Worker *worker, Ability ability) noexcept;

/// Any task in any lane; the backlog of Large tasks does not count. A hint, for reports.
bool AnyTask(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
