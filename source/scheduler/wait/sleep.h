// A worker sleeps until it is woken. Here the end of a run is noticed.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Looks at everything once more and sleeps until woken. The caller is a searcher if its mode is
/// Tasks, and is one afterwards. Here the end of a run is noticed.
void Sleep(Worker *worker, WorkerMode mode) noexcept;

/// Stop was called, or the main task has returned.
void WantEnd(Scheduler &scheduler) noexcept;

/// Ends the run if it is over: nothing is pending and nobody is a guest; then nobody comes in any
/// more. The caller wakes all.
bool EndRun(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
