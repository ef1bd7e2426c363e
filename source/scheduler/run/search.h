// Searches for work on behalf of a worker that has none, for a while. After that the worker sleeps
// (wait/sleep.h).
//
// A sleeping worker holds no fiber. It searches on the fiber of its loop, frees that fiber, and
// sleeps on its thread's own stack. So every fiber that is not free belongs to a task, or to a loop
// that works. No worker lacks a fiber because another worker sleeps on it.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Searches for work of any kind. If it finds none, the worker remains a searcher, on which
/// publishers rely: it must sleep next, or search again.
Found SearchForTasks(Worker *worker) noexcept;

/// The worker stops being a searcher. If it was the last one while others sleep, wakes another
/// worker in its place.
void StopSearching(Worker *worker) noexcept;

/// Searches for a ready fiber, for a starved worker. Finds nothing if a small fiber may be free, or
/// if it is time to sleep.
Found SearchForFibers(Worker *worker) noexcept;

}  // namespace weft::internal
