// How many tasks a worker claims from a deque's entry, and when it lowers their counter. Other
// workers cannot steal a claimed task.
//
// An entry is one task or a slice: a range of the tasks of one batch. At first a worker does not
// know how long the tasks of a batch take. Then it claims exactly one task and leaves the rest of
// the slice stealable, before it runs the one. Later it claims what it expects to run for
// Times::claimBudget, 3 microseconds (invariant 8). Between two claimed tasks it pushes the
// remaining ones back to its lane if a worker without work asks (Worker::asked), if a deadline, a
// task from outside or higher work has to have a turn (CallOf), or if the budget is spent. It reads
// the clock for this after 4, 16 and 64 tasks.
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
#include "scheduler/scheduler.h"
#include "scheduler/submit.h"

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

/// The entry goes to the newest end of the worker's own lane. Wakes nobody. Without memory: fatal.
void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept;

/// There is no fiber for the claim just now: it goes back to where it was found.
void PutClaimBack(Worker *worker) noexcept;

/// Runs the worker's claim on `self`, the calling fiber, and notes what has finished. The fiber may
/// be on another worker when this returns.
void RunClaim(Fiber *self) noexcept;

/// `count` tasks have finished here and are counted off. release: who sums up these counts and
/// finds that all has finished sees what the tasks did and submitted.
inline void CountFinished(Worker *worker, uint32_t count) noexcept {
    race::Finishes(worker->scheduler);
    // only the owner writes it
    worker->finished.store(worker->finished.load(kRelaxed) + count, kRelease);
}

/// Lowers what `pending` says; there is something.
void LowerPending(Worker *worker) noexcept;

/// Lowers the counter of tasks that finished here. Before anything that others could wait for.
inline void FlushPending(Worker *worker) noexcept {
    if (worker->pending.Any() || worker->claim.AnyToNote()) LowerPending(worker);
}

/// Raises the counter (or none) for tasks that the worker submits, by what is not pending of it.
/// False: refused and reported.
bool RaisePast(Worker *worker, Counter *counter, uint32_t n) noexcept;
inline bool RaisePastPending(Worker *worker, Counter *counter, uint32_t n) noexcept {
    if (worker->pending.Any() || worker->claim.AnyToNote()) return RaisePast(worker, counter, n);
    return counter == nullptr || RaiseCounter(*worker->scheduler, *counter, n);
}

/// The running task is about to end. Its unit of `counter`, which may be null, stands for a new
/// task. The caller has no pending decrements.
inline void TakeOverFromRunning(Worker *worker, Counter *counter) noexcept {
    worker->pending.counter = counter;
    worker->pending.units = 0u - 1;  // the task's own makes it zero
}

/// Undoes TakeOverFromRunning if the running task does not end after all: the counter is raised by
/// one for the new task. False if that was refused, which was reported.
inline bool GiveToRunning(Worker *worker) noexcept {
    const PendingDecrement pending = std::exchange(worker->pending, {});
    return pending.counter == nullptr || RaiseCounter(*worker->scheduler, *pending.counter, 1);
}

/// `count` tasks of `counter` (or of none) finished on this worker, in one piece.
inline void NoteFinished(Worker *worker, Counter *counter, uint32_t count) noexcept {
    if (worker->pending.counter != counter) FlushPending(worker);
    PendingDecrement &pending = worker->pending;
    pending.counter = counter;
    pending.finished += count;
    pending.units += count;
    ++pending.pieces;
}

/// Whether what is pending has been kept for long enough, or somebody waits for a value above zero.
bool LookIfPendingIsDue(Worker *worker) noexcept;
inline bool IsPendingDue(Worker *worker) noexcept {
    const bool isFull = worker->pending.pieces >= worker->pendingLimit.pieces;
    const bool anyForValue = (worker->scheduler->notices.Look() & Notices::kForValue) != 0;
    return WEFT_UNLIKELY(isFull || anyForValue) && LookIfPendingIsDue(worker);
}

/// Whether `next` may run before what is pending is lowered, if this worker runs it next (invariant
/// 9).
inline bool MayKeepPending(Worker *worker, const TaskEntry &next) noexcept {
    if (next.TheCounter() != worker->pending.counter) return false;
    const TaskTime &time = worker->taskTime;
    const bool isLong = next.IsSlice() && next.Batch() == time.batch &&
                        time.ticks > worker->scheduler->times.longTask * time.tasks;
    return !isLong && !IsPendingDue(worker);
}

}  // namespace weft::internal
