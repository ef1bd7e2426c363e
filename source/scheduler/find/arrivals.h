// What comes to a worker from outside: deadlines that are due, and what threads that are no workers
// submit or make ready.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Due deadlines are told, and the injector is emptied. Returns whether tasks of this priority or a
/// higher one came.
bool TakeArrivals(Worker *worker, Priority priority) noexcept;

}  // namespace weft::internal
