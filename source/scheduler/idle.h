// A worker without work: searches for a while, then sleeps until it is woken.
//
// Who sleeps holds no fiber. It searches on the fiber of its loop, frees that, and sleeps on its
// thread's own stack. So a fiber that is not free belongs to a task, and no worker goes without one
// because another sleeps on it.
#pragma once

#include "scheduler/find_work.h"

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

/// Looks at everything once more and sleeps until woken. The caller is a searcher if its ability is
/// Tasks, and is one afterwards. Here the end of a run is noticed.
void Sleep(Worker *worker, Ability ability) noexcept;

/// Stop was called, or the main task has returned.
void WantEnd(Scheduler &scheduler) noexcept;

/// Ends the run if it is over: nothing is pending and nobody is a guest; then nobody comes in any
/// more. The caller wakes all.
bool EndRun(Scheduler &scheduler) noexcept;

/// Submitted tasks that have not finished; waiting ones are among them. Exact only if nothing runs:
/// then 0 means that nothing is pending and nothing can be added but by foreign threads.
uint64_t PendingTasks(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
