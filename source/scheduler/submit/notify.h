// Lowering a counter, and what becomes of those that wait for it: fibers become ready, external
// threads are unparked, waits for several counters learn of it, deferred tasks are submitted.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Goes through a list of wait records and lets their owners go on.
void WakeOwners(Scheduler &scheduler, Worker *worker, uint32_t list) noexcept;

/// Lowers a counter and makes ready whom that satisfies. False if the decrement was refused and
/// reported.
bool LowerAndWake(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept;
inline bool LowerCounter(Scheduler &scheduler, Worker *worker, Counter &counter,
                         uint32_t n) noexcept {
    race::CountsOff(counter);
    if (WEFT_LIKELY(scheduler.counters.TryDecrement(CounterAccess::Word(counter), n))) return true;
    return LowerAndWake(scheduler, worker, counter, n);
}

/// A wait for the first of several counters (AnyWait) on whose behalf records lie on them: a
/// record's owner is the wait's place in its pool and the number of the counter.
using Places = decltype(Scheduler::anyWaits);
constexpr uint32_t OwnerOf(uint32_t place, uint32_t counter) noexcept {
    return kAnyOwner | (place * kAnyCounters + counter);
}
constexpr uint32_t PlaceOf(uint32_t owner) noexcept { return (owner & ~kAnyOwner) / kAnyCounters; }
constexpr uint32_t CounterOf(uint32_t owner) noexcept { return owner % kAnyCounters; }

/// One counter is zero. The first call lowers the wait's done counter. `counter`: its number.
void NoteZero(Scheduler &scheduler, Worker *worker, AnyWait &wait, uint32_t counter) noexcept;

/// One reference to the wait is given up. The last one gives the wait back to its pool.
void LetGo(Scheduler &scheduler, const Worker *worker, uint32_t place) noexcept;

/// The owner of a record was woken: its counter is zero.
void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept;

/// What the waiter itself waits for on whose behalf a record with this kAnyOwner stands on a
/// counter. It must stay there meanwhile.
Counter &DoneCounterOf(Scheduler &scheduler, uint32_t owner) noexcept;

/// What the fiber waits for that waits, with a deadline, for zero of the counter on which a record
/// with this owner stands; null if it is no such record. It must stay on the counter meanwhile.
Counter *DoneCounterOfOne(Scheduler &scheduler, uint32_t owner) noexcept;

/// The condition of a deferred task has come: its block goes where a worker finds it.
void SendNow(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept;

}  // namespace weft::internal
