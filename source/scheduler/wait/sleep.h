// Puts a worker to sleep until it is woken. A worker that is about to sleep also checks whether the
// run is over, answers WaitIdle, and checks for stalls.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Announces that the worker sleeps, checks once more for work, and sleeps until the worker is
/// woken. With mode Tasks the caller is a searcher before and after.
void Sleep(Worker *worker, WorkerMode mode) noexcept;

/// Ends the run if it is over: nothing is pending and no thread is a guest. Closes the gate, so
/// that no external thread comes in any more. Returns true if it ended the run: then the caller
/// must wake all workers.
bool EndRun(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
