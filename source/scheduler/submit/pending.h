// Decrements of finished tasks that have not been carried out yet (invariant 9).
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/notify.h"

#include <cstdint>
#include <utility>

namespace weft::internal {

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
                        time.ticks > worker->scheduler->tuning.longTask * time.tasks;
    return !isLong && !IsPendingDue(worker);
}

}  // namespace weft::internal
