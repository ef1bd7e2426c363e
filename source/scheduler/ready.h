// Making fibers ready, and waking workers for them and for tasks.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// A fiber whose wait is over goes where a worker finds it, and somebody is woken if nobody would look. `worker`: the
/// caller's, or null for a thread that is no worker of this scheduler.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept;

/// Goes through a list of wait records and lets their owners go on.
void WakeOwners(Scheduler &scheduler, Worker *worker, uint32_t list) noexcept;

/// Lowers a counter and makes ready whom that satisfies. False if the decrement was refused and reported.
bool LowerAndWake(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept;
inline bool LowerCounter(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept {
    race::CountsOff(counter);
    if (WEFT_LIKELY(scheduler.counters.TryDecrement(CounterAccess::Word(counter), n))) return true;
    return LowerAndWake(scheduler, worker, counter, n);
}

/// `count` tasks were published: wakes up to two sleepers that can run them, if nobody searches.
void WakeWanted(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept;
inline void WakeForTasks(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept {
    if (WEFT_UNLIKELY(scheduler.idle.Wanted())) WakeWanted(scheduler, worker, count);
}

/// A ready fiber was published, or anything: wakes a sleeper, if nobody searches.
void WakeForAny(Scheduler &scheduler, Worker *worker) noexcept;

/// A small fiber was freed: wakes a worker that sleeps for want of one.
void WakeStarved(Scheduler &scheduler, Worker *worker) noexcept;

/// Wakes all that sleep: one of them, nobody knows which, has something to do.
void WakeEverySleeper(Scheduler &scheduler) noexcept;

/// Wakes everybody, to go home.
void WakeAll(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
