// From a deque's entry to running tasks: what a worker claims, and what it may hide from the others by claiming it.
//
// The rule (invariant 8): until the task time of a batch is known to a worker, it claims exactly one task and leaves the rest
// of the slice stealable, before it runs the one. Once it is known, it claims what is expected to run for Times::claimBudget
// (3 microseconds). Between two claimed tasks it pushes the remainder back, and lowers the counter by the finished ones, as
// soon as a worker without work asks (Worker::asked), something must have a turn (IsCalled), or the clock, read after 4, 16
// and 64 tasks, shows that the budget is spent.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/worker.h"

#include <cstdint>

namespace weft::internal {

/// `entry` was taken from a deque: claims what the rule allows and pushes the remainder to this worker's own lane of that priority.
void ClaimEntry(Worker *worker, const TaskEntry &entry, Priority priority, bool stolen) noexcept;

/// Claims one task that is pinned to this worker.
void ClaimPinned(Worker *worker, const Task &task, Counter *counter, const TaskOptions &options) noexcept;

/// Makes claimed tasks that have not started stealable again. Before the worker suspends its fiber, parks, or helps.
void UnclaimNow(Worker *worker) noexcept;
inline void UnclaimRest(Worker *worker) noexcept {
    if (worker->claim.first != nullptr) UnclaimNow(worker);
}

/// The entry goes to the newest end of the worker's own lane. Wakes nobody. Without memory: fatal.
void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept;

/// There is no fiber for the claim just now: it goes back to where it was found.
void PutClaimBack(Worker *worker) noexcept;

/// What the caller does after it has run something.
enum class AndThen : uint8_t { LookForWork, ReturnToTask };

/// Runs the worker's claim on `self`, the calling fiber, and lowers its counter. The fiber may be on another worker when
/// this returns.
void RunClaim(Fiber *self, AndThen andThen) noexcept;

/// `count` tasks have finished here and are counted off. release: who sums up these counts and finds that all has finished
/// sees what the tasks did and submitted.
inline void CountFinished(Worker *worker, uint32_t count) noexcept {
    race::Finishes(worker->scheduler);
    worker->finished.store(worker->finished.load(kRelaxed) + count, kRelease);  // only the owner writes it
}

/// Lowers what `pending` says; there is something.
void LowerPending(Worker *worker) noexcept;

/// Lowers the counter of tasks that finished here. Before anything that others could wait for.
inline void FlushPending(Worker *worker) noexcept {
    if (worker->pending.count != 0 || worker->claim.AnyToNote()) LowerPending(worker);
}

/// `count` tasks of `counter` (or of none) finished on this worker.
inline void NoteFinished(Worker *worker, Counter *counter, uint32_t count) noexcept {
    if (worker->pending.counter != counter) FlushPending(worker);
    worker->pending.counter = counter;
    worker->pending.count += count;
}

}  // namespace weft::internal
