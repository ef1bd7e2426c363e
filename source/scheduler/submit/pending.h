// Decrements that are pending (invariant 9).
//
// A decrement is pending when its task has finished and the worker has not lowered the counter yet.
// Decrements stay pending while the worker runs more tasks of the same counter. So it writes less
// often to a cache line that other workers write to as well. Meanwhile the worker runs a task of
// that counter, or has taken one to run it next. That task has not finished, so the counter is
// above zero: no wait for zero is delayed, and the counter is alive.
//
// If the worker submits tasks of the counter meanwhile, each of them takes over one pending
// decrement, as long as there are any. The counter is raised only for the others. When a coroutine
// waits, its current task ends and submits the next one. The next task takes over the unit of the
// ending task, so the counter does not change.
//
// A wait for a value above zero shows a notice and sets a bit in the counter's word. A worker that
// sees the notice reads the word (CounterWaiting::AnyForValue). If the bit is set, it lowers the
// counter after each task.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/notify.h"

#include <cstdint>
#include <utility>

namespace weft::internal {

/// Counts `count` tasks that have finished on this worker. release: pairs with PendingTasks. A
/// thread that sums up these counts and finds that all tasks have finished sees what the tasks did
/// and submitted.
inline void CountFinished(Worker *worker, uint32_t count) noexcept {
    race::Finishes(worker->scheduler);
    // relaxed load: only the owner writes it
    worker->finished.store(worker->finished.load(kRelaxed) + count, kRelease);
}

/// Lowers the counter by what is pending. The caller has checked that something is.
void LowerPending(Worker *worker) noexcept;

/// Lowers the counter of tasks that have finished on this worker. Call it before anything that
/// other threads could wait for.
inline void FlushPending(Worker *worker) noexcept {
    if (worker->pending.Any() || worker->claim.AnyToNote()) LowerPending(worker);
}

/// Raises `counter`, which may be null, for `n` tasks that the worker submits. They take over the
/// pending decrements of this counter; only the rest is added. Returns false after a report.
bool RaisePast(Worker *worker, Counter *counter, uint32_t n) noexcept;

// The same, with a cheap test first whether anything is pending.
inline bool RaisePastPending(Worker *worker, Counter *counter, uint32_t n) noexcept {
    if (worker->pending.Any() || worker->claim.AnyToNote()) return RaisePast(worker, counter, n);
    return counter == nullptr || RaiseCounter(*worker->scheduler, *counter, n);
}

/// Call it when the running task is about to end. Its unit of `counter`, which may be null, then
/// counts a new task. The caller has no pending decrements.
inline void TakeOverFromRunning(Worker *worker, Counter *counter) noexcept {
    worker->pending.counter = counter;
    worker->pending.units = 0u - 1;  // becomes 0 when the running task adds its own
}

/// Undoes TakeOverFromRunning if the running task does not end after all: raises the counter by one
/// for the new task. Returns false, after a report, if the counter refused that.
inline bool GiveToRunning(Worker *worker) noexcept {
    const PendingDecrement pending = std::exchange(worker->pending, {});
    return pending.counter == nullptr || RaiseCounter(*worker->scheduler, *pending.counter, 1);
}

/// Call it when `count` tasks have finished on this worker in one piece. Makes their decrements
/// pending. `counter` counts these tasks; null: no counter does.
inline void NoteFinished(Worker *worker, Counter *counter, uint32_t count) noexcept {
    if (worker->pending.counter != counter) FlushPending(worker);
    PendingDecrement &pending = worker->pending;
    pending.counter = counter;
    pending.finished += count;
    pending.units += count;
    ++pending.pieces;
}

/// Returns true if the decrements have been pending for long enough, or if a task waits for a value
/// above zero of their counter.
bool LookIfPendingIsDue(Worker *worker) noexcept;

// The same, with a cheap check first.
inline bool IsPendingDue(Worker *worker) noexcept {
    const bool isFull = worker->pending.pieces >= worker->pendingLimit.pieces;
    const bool anyForValue = (worker->scheduler->notices.Look() & Notices::kForValue) != 0;
    return WEFT_UNLIKELY(isFull || anyForValue) && LookIfPendingIsDue(worker);
}

/// Returns true if the decrements may stay pending while this worker runs `next` right away
/// (invariant 9).
inline bool MayKeepPending(Worker *worker, const TaskEntry &next) noexcept {
    if (next.TheCounter() != worker->pending.counter) return false;
    const TaskTime &time = worker->taskTime;
    const bool isLong = next.IsSlice() && next.Batch() == time.batch &&
                        time.ticks > worker->scheduler->tuning.longTask * time.tasks;
    return !isLong && !IsPendingDue(worker);
}

}  // namespace weft::internal
