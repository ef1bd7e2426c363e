// A worker without work: searches for a while, then sleeps until it is woken.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Returns with work, or with none when the scheduler stops or, for a starved worker, when a small fiber may be free.
Found WaitForWork(Worker *worker, Ability ability) noexcept;

/// Submitted tasks that have not finished; waiting ones are among them. Exact only if nothing runs: then 0 means that
/// nothing is pending and nothing can be added but by foreign threads.
uint64_t PendingTasks(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
