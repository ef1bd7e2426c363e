// Claims: the tasks that a worker has taken from an entry of a deque and not finished. This file
// decides how many tasks of an entry a worker claims, and puts unstarted tasks back. Other workers
// cannot steal a claimed task.
//
// An entry is one task or a slice, which is a range of the tasks of one batch. At first a worker
// does not know how long the tasks of a batch take. Then it claims exactly one task, and pushes the
// rest of the slice to its lane before it runs that task, so that other workers can steal the rest.
// Once the worker knows the task time (Worker::taskTime), it claims as many tasks as it expects to
// run within Tuning::claimBudget, 3 microseconds (invariant 8).
//
// Between two claimed tasks (run_task.cpp) the worker pushes the remaining ones back to its lane in
// three cases:
// - A worker without work asks for them (Worker::asked).
// - Something urgent must run first (UrgencyOf): a due deadline, work from an external thread, work
//   in the inbox, or High work.
// - The budget is spent. The worker reads the clock for this after 4, 16 and 64 tasks.
//
// The counter of finished tasks is lowered as submit/pending.h says.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

#include <cstdint>
#include <utility>

namespace weft::internal {

/// Claims tasks of `entry`, which the caller has taken from a deque: as many as the rule above
/// allows. Pushes the rest to this worker's own lane of that level. `owner`: the index of the
/// worker whose deque it was.
void ClaimEntry(Worker *worker, const TaskEntry &entry, Level level, uint32_t owner) noexcept;

/// Claims one task that is pinned to this worker.
void ClaimPinned(Worker *worker, const Task &task, TaskCounter counter, Label label) noexcept;

/// Makes claimed tasks that have not started stealable again. Call it before the worker suspends
/// its fiber, parks, or runs other tasks inline.
void UnclaimNow(Worker *worker) noexcept;
inline void UnclaimRest(Worker *worker) noexcept {
    if (worker->claim.first != nullptr) UnclaimNow(worker);
}

/// Puts the claim back where it was found, because no fiber is free to run it.
void PutClaimBack(Worker *worker) noexcept;

}  // namespace weft::internal
