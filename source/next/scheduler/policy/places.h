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
/// counter or of this scope, or else 0. Earlier waits want nothing until then: a task that they
/// have wanted waits, too. Compares addresses only.
uint32_t ScopeThatWants(const Worker &worker, const Counter *counter, uint32_t scope) noexcept;
/// The same for an entry, which may be torn.
inline uint32_t ScopeThatWants(const Worker &worker, const Entry &entry) noexcept {
    return ScopeThatWants(worker, entry.CounterOfIt(), entry.Scope());
}

/// Returns true for pinned work that a wait does not keep the worker from.
bool MayGoOn(const Worker &worker, Node &node) noexcept;

/// Moves what came from outside to where this worker looks: fibers whose deadline is due, the
/// inbox, the injector.
void TakeArrivals(Worker &worker) noexcept;

/// Takes the newest entry of the own deque. Returns nothing if it is empty.
Work TakeOwn(Worker &worker, Level level) noexcept;

/// Takes pinned work of the priority of `level`, oldest first. A wait that restricts the worker
/// leaves pinned tasks of lower priorities, but not fibers: their tasks have begun.
Work TakePinned(Worker &worker, Level level) noexcept;

/// Takes from the deques of others (steal.cc). Also returns nothing while this worker leaves others
/// alone, or if it leaves a lone fiber to its worker. `isFair`: each call begins with another
/// deque.
Work Steal(Worker &worker, Level level, bool isFair = false) noexcept;

/// Takes the oldest of the chunks that were put behind all others (submit/claim.cc).
Work TakeBehind(Worker &worker, Level level) noexcept;

/// Takes the oldest pinned work or own entry, in turn. `othersFirst`: tries to steal before.
Work TakeOldest(Worker &worker, Level level, bool othersFirst) noexcept;

/// Returns true if work of the level waits for this worker somewhere. seq_cst.
bool AnyOf(const Worker &worker, Level level) noexcept;

/// Returns true if something waits for this worker anywhere. seq_cst: the last look of a worker
/// that has announced its sleep.
bool AnyWork(const Worker &worker) noexcept;

/// Wakes others for the levels that this worker does not run any more. `before`: what it ran.
void PassOn(Worker &worker, uint32_t before) noexcept;

/// Call it when the worker has found work. A worker that is woken for a group, or that is choosy,
/// may have been woken for other work than it has found.
void PassWakeUpsOn(Worker &worker) noexcept;

/// Computes Worker::filter. Call it when the pinned work or the limits of the worker have changed.
void NoteFilter(Worker &worker) noexcept;

}  // namespace weft::internal
