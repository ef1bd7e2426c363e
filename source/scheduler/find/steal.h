// Takes work from other workers.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Takes work of one priority from another worker. Searches for High and Low work only if a notice
/// says that there may be some.
Found StealOf(Worker *worker, Priority priority, WorkerMode mode) noexcept;

/// Takes work from another worker, work of higher priority first.
Found Steal(Worker *worker, WorkerMode mode) noexcept;

}  // namespace weft::internal
