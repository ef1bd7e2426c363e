// A worker without work: searches for a while, then sleeps until it is woken.
//
// Who sleeps holds no fiber. It searches on the fiber of its loop, frees that, and sleeps on its
// thread's own stack. So a fiber that is not free belongs to a task, and no worker goes without one
// because another sleeps on it.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Work of any kind. Without any, the worker remains a searcher, which others rely on: it sleeps
/// next, or searches again.
Found SearchForTasks(Worker *worker) noexcept;

/// The worker is a searcher no more; if it was, somebody else is woken in its place where that is
/// needed.
void StopSearching(Worker *worker) noexcept;

/// For a starved worker: a ready fiber. None when a small fiber may be free, or when it is time to
/// sleep.
Found SearchForFibers(Worker *worker) noexcept;

}  // namespace weft::internal
