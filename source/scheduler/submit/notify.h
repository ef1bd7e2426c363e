// Lowers a counter and notifies its waiters: a fiber becomes ready, an external thread is unparked,
// a wait for several counters learns which one is satisfied, a deferred task is submitted.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"
#include "weft/deferred.h"

namespace weft::internal {

/// Notifies the owners of all wait records in `list`, which a decrement has taken off a counter.
void WakeOwners(Scheduler &scheduler, Worker *worker, uint32_t list) noexcept;

/// Lowers a counter and notifies the waiters that this satisfies. Returns false, after a report, if
/// the decrement was refused.
bool LowerAndWake(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept;
// The same, with one attempt for the most frequent case first: there is no waiter to notify.
inline bool LowerCounter(Scheduler &scheduler, Worker *worker, Counter &counter,
                         uint32_t n) noexcept {
    race::CountsOff(counter);
    if (WEFT_LIKELY(scheduler.counters.TryDecrement(CounterAccess::Word(counter), n))) return true;
    return LowerAndWake(scheduler, worker, counter, n);
}

/// A wait for the first of several counters (AnyWait) has a wait record on each of them. The owner
/// of such a record is made of the wait's index in its pool and the number of the counter.
using AnyWaits = decltype(Scheduler::anyWaits);
constexpr uint32_t OwnerOf(uint32_t index, uint32_t counter) noexcept {
    return kAnyOwner | (index * kAnyCounters + counter);
}
constexpr uint32_t IndexOf(uint32_t owner) noexcept { return (owner & ~kAnyOwner) / kAnyCounters; }
constexpr uint32_t CounterOf(uint32_t owner) noexcept { return owner % kAnyCounters; }

/// Call it when a counter of the wait is satisfied. The first call lowers the done counter of the
/// wait. `counter`: the number of the satisfied one.
void NoteZero(Scheduler &scheduler, Worker *worker, AnyWait &wait, uint32_t counter) noexcept;

/// Gives up one reference to the wait. With the last one the wait returns to its pool.
void LetGo(Scheduler &scheduler, const Worker *worker, uint32_t index) noexcept;

/// Call it when a decrement has taken the record with this owner off its counter, or when the
/// wait's deadline is due.
void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept;

/// Returns the counter that the waiter itself waits for. A record with this kAnyOwner must be on a
/// counter, and stay there while the result is used.
Counter &DoneCounterOf(Scheduler &scheduler, uint32_t owner) noexcept;

/// The same for a wait, with a deadline, for zero of one counter. Returns null for any other owner.
/// The record must stay on the counter while the result is used.
Counter *DoneCounterOfOne(Scheduler &scheduler, uint32_t owner) noexcept;

/// Call it when `n` of the things that a deferred batch waits for are there (DeferredBatch::state).
/// With the last one the batch is handed over, unless it was withdrawn. `index`: the batch's, which
/// may be in use again when the call returns.
void ReachForBatch(Scheduler &scheduler, Worker *worker, uint32_t index, uint32_t n) noexcept;

/// Keeps the batch from being handed over until ReachForBatch(..., index, 1), so that its blocks
/// can be read. Returns an empty handle if no batch with this index waits for anything.
DeferredHandle HoldBatch(Scheduler &scheduler, uint32_t index) noexcept;

/// The same for a task that waits for one counter and may be withdrawn. HoldTask returns false if
/// the block has none. After it, either LetTaskGo or WithdrawTask must follow. The latter returns
/// false if it is too late; then it has let the task go.
bool HoldTask(TaskBlock &block) noexcept;
void LetTaskGo(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept;
bool WithdrawTask(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept;

/// Returns the counter that counts the deferred tasks with this kTaskOwner, or null. Null also for
/// tasks that may be withdrawn, because their counter may be gone before the record. The record
/// must stay on its counter while the result is used, and the caller must hold Scheduler::climbs.
Counter *CounterOfDeferred(Scheduler &scheduler, uint32_t owner) noexcept;

/// Hands over a task whose counter was reached, once its wait record is gone; unless StopFor has
/// withdrawn the task, or holds its block and hands it over itself. Used in place of SendNow.
void SendDeferred(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept;

/// Hands over the block of a deferred task whose condition is satisfied, or the blocks of a batch.
void SendNow(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept;
void SendBatchNow(Scheduler &scheduler, Worker *worker, TaskBlock *oldest, uint32_t count) noexcept;

}  // namespace weft::internal
