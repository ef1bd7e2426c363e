// Taking work from other workers.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Others' work of one priority. High and Low work only where a notice says that there is some.
Found StealOf(Worker *worker, Priority priority, WorkerMode mode) noexcept;

/// Others' work, the most urgent first.
Found Steal(Worker *worker, WorkerMode mode) noexcept;

}  // namespace weft::internal
