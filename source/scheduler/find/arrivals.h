// Takes in what comes to a worker from outside: deadlines that are due, and tasks and ready fibers
// from external threads.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Handles due deadlines and empties the injector. Returns true if tasks of this priority or a
/// higher one came.
bool TakeArrivals(Worker *worker, Priority priority) noexcept;

}  // namespace weft::internal
