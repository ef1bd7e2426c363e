// How many tasks a worker claims from a deque's entry, and when it lowers their counter. Other
// workers cannot steal a claimed task.
//
// An entry is one task or a slice: a range of the tasks of one batch. At first a worker does not
// know how long the tasks of a batch take. Then it claims exactly one task and leaves the rest of
// the slice stealable, before it runs the one. Later it claims what it expects to run for
// Tuning::claimBudget, 3 microseconds (invariant 8). Between two claimed tasks it pushes the
// remaining ones back to its lane if a worker without work asks (Worker::asked), if a deadline, a
// task from outside or higher work has to have a turn (UrgencyOf), or if the budget is spent. It
// reads the clock for this after 4, 16 and 64 tasks.
//
// Each finished task has to lower its counter. A decrement is pending when its task has finished
// and the worker has not lowered the counter yet (invariant 9). Decrements stay pending while the
// worker runs more tasks of the same counter: so it writes less often to a cache line that other
// workers write to as well. Meanwhile the worker runs a task of that counter, or has taken one to
// run it next. That task has not finished, so the counter is above zero: no wait for zero is
// delayed, and the counter is alive.
//
// If the worker submits tasks of the counter meanwhile, each of them takes over one pending
// decrement, as long as there are any. The counter is raised for the others alone. When a coroutine
// waits, its current task ends and submits the next one. The next task takes over the unit of the
// ending task, so the counter does not change.
//
// A wait for a value above zero shows a notice and sets a bit in the counter's word. A worker that
// sees the notice reads the word (CounterWaiting::AnyForValue), and if the bit is set, it lowers
// the counter after each task.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

#include <cstdint>
#include <utility>

namespace weft::internal {

/// `entry` was taken from a deque: claims what the rule allows and pushes the remainder to this
/// worker's own lane of that level.
void ClaimEntry(Worker *worker, const TaskEntry &entry, Level level, bool stolen) noexcept;

/// Claims one task that is pinned to this worker.
void ClaimPinned(Worker *worker, const Task &task, Counter *counter, Label label) noexcept;

/// Makes claimed tasks that have not started stealable again. Before the worker suspends its fiber,
/// parks, or helps.
void UnclaimNow(Worker *worker) noexcept;
inline void UnclaimRest(Worker *worker) noexcept {
    if (worker->claim.first != nullptr) UnclaimNow(worker);
}

/// There is no fiber for the claim just now: it goes back to where it was found.
void PutClaimBack(Worker *worker) noexcept;

}  // namespace weft::internal
