// The places where a worker finds work. NextWork, the fair picks, and the last look before sleep
// all go through these functions.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The levels of which the worker may find work, as a mask. A hint: relaxed.
inline uint32_t LevelsToLookAt(const Worker &worker) noexcept {
    const uint32_t seen = worker.holds | worker.scheduler->notices.Look() | kUnnoticed;
    return (worker.filter.may & seen) | worker.filter.pinned;
}

/// Returns the scope of the latest wait with OwnTasks on this worker if it wants tasks of this
/// counter or of this scope, or else 0. Only the latest wait counts: a task that the earlier waits
/// need has begun it. Compares addresses only.
uint32_t ScopeThatWants(const Worker &worker, const Counter *counter, uint32_t scope) noexcept;
/// The same for an entry, which may be torn.
inline uint32_t ScopeThatWants(const Worker &worker, const Entry &entry) noexcept {
    return ScopeThatWants(worker, entry.CounterOfIt(), entry.Scope());
}

/// Returns true if the pinned work may run although a wait limits the priorities of this worker.
bool MayGoOn(const Worker &worker, Node &node) noexcept;

/// Returns true if what the worker may run has changed (state/groups.h). Call it when the worker
/// has taken something that others published. If it is true, put that back, and call TakeArrivals.
/// relaxed: what is submitted after the change is published after it.
inline bool IsStale(const Worker &worker) noexcept {
    return WEFT_UNLIKELY(worker.scheduler->changes.load(kRelaxed) != worker.filter.changes);
}

/// Takes what came from outside: due timers (fibers, deferred tasks, the end of the run), the
/// inbox, the injector. Moves the work to this worker's deques and pinned lists.
void TakeArrivals(Worker &worker) noexcept;

/// Takes the newest entry of the own deque. Returns nothing if it is empty.
Work TakeOwn(Worker &worker, Level level) noexcept;

/// Takes the oldest pinned work of the priority of `level` that the waits on this worker allow.
/// They never forbid a fiber, whose task has begun, except in a wait with OwnTasks (MayGoOn).
Work TakePinned(Worker &worker, Level level) noexcept;

/// Takes from the deques of others (steal.cpp). Also returns nothing while this worker leaves
/// others alone, or if it leaves a lone fiber to its worker. `isFair`: each call begins with
/// another deque.
Work Steal(Worker &worker, Level level, bool isFair = false) noexcept;

/// Takes the oldest of the chunks that were put behind all others (submit/claim.cpp).
Work TakeBehind(Worker &worker, Level level) noexcept;

/// Takes the oldest work of the level: a chunk that was put behind the others, else the oldest own
/// entry. `othersFirst`: tries to steal before these two; for a late level, between them. Pinned
/// work comes first or last, in turn.
Work TakeOldest(Worker &worker, Level level, bool othersFirst) noexcept;

/// Returns true if work of the level waits for this worker somewhere. seq_cst.
bool AnyOf(const Worker &worker, Level level) noexcept;

/// Returns true if something waits for this worker anywhere. seq_cst: the last look of a worker
/// that has announced its sleep.
bool AnyWork(const Worker &worker) noexcept;

/// Wakes others for the levels that this worker does not run any more. `before`: what it ran.
void PassOn(Worker &worker, uint32_t before) noexcept;

/// Wakes others for queued work of the levels for which this worker may have been woken. Call it
/// when the worker has found work, which may be other work: in runs with groups, or if it is
/// choosy.
void PassWakeUpsOn(Worker &worker) noexcept;

/// Computes Worker::filter. Call it when the pinned work or the limits of the worker have changed.
void NoteFilter(Worker &worker) noexcept;

}  // namespace weft::internal
