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

/// Returns true if the latest wait with OwnTasks on this worker wants tasks of this counter or of
/// this scope, both of which may be torn. Only the latest wait counts: a task that the earlier
/// waits need has begun it.
inline bool IsWanted(const Worker &worker, const Counter *counter, uint32_t scope) noexcept {
    const OwnWait *const latest = worker.ownWaits;
    return latest != nullptr && (counter == latest->counter || scope == latest->scope);
}

/// Computes Worker::filter. Call it when the pinned work or the limits of the worker have changed.
/// Wakes others for the levels that this worker does not run any more.
void NoteFilter(Worker &worker) noexcept;

/// Returns true if the waits on this worker allow the pinned work. They never forbid a fiber, whose
/// task has begun. But while a task waits with OwnTasks, they forbid all but its own fiber and the
/// work that it wants.
bool MayTake(const Worker &worker, Node &node) noexcept;

/// Returns true if what the worker may run has changed (state/groups.h). Call it when the worker
/// has taken something that others published. If it is true, put that back, and call TakeArrivals.
/// relaxed: what is submitted after the change is published after it.
inline bool IsStale(const Worker &worker) noexcept {
    return WEFT_UNLIKELY(worker.scheduler->changes.load(kRelaxed) != worker.filter.changes);
}

/// Takes what came from outside: due timers (fibers, deferred tasks, the end of the run), the
/// inbox, the injector. Moves the work to this worker's deques and pinned lists. Returns true if a
/// deadline was due. What it was for is the newest entry of its level then.
bool TakeArrivals(Worker &worker) noexcept;

/// Takes the oldest pinned work of the priority for which wants(node) returns true.
template <class Wants>
Work TakePinnedIf(Worker &worker, Priority priority, Wants wants) noexcept {
    Node *const node = worker.pinned[static_cast<uint32_t>(priority)].TakeIf(wants);
    NoteFilter(worker);
    return node != nullptr ? Work{Entry::Of(*node), node->level, true} : Work{};
}
/// Takes the oldest pinned work that the waits allow (MayTake), of the highest of these levels.
/// Pinned work of each group counts as work of no group.
Work TakePinned(Worker &worker, uint32_t levels) noexcept;

/// Takes from the deques of others. Also returns nothing while this worker leaves others alone, or
/// if it leaves a lone fiber to its worker. `isFair`: each call begins with another deque.
Work Steal(Worker &worker, Level level, bool isFair = false) noexcept;

/// Takes the oldest of the chunks that were put behind all others (PutBack, submit/finish.cpp).
Work TakeBehind(Worker &worker, Level level) noexcept;

/// Takes the oldest work of the level: a chunk that was put behind the others, else the oldest own
/// entry. `othersFirst`: tries to steal before these two; for a late level, between them. Pinned
/// work comes first or last, in turn.
Work TakeOldest(Worker &worker, Level level, bool othersFirst) noexcept;

/// Returns true if work of the level waits for this worker somewhere. seq_cst.
bool AnyOf(const Worker &worker, Level level) noexcept;

/// Returns true if any work waits for this worker, and sets the notice of what it finds. seq_cst:
/// the last look of a worker that has announced its sleep.
bool AnyWork(const Worker &worker) noexcept;

}  // namespace weft::internal
