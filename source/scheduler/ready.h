// Making fibers ready, and waking workers for them and for tasks.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/groups.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// A fiber whose wait is over goes where a worker finds it, and somebody is woken if nobody would
/// look. `worker`: the caller's, or null for a thread that is no worker of this scheduler.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept;

/// The fiber goes to the worker's own ready fibers. False when there is no memory. Wakes nobody.
bool PushReady(Worker *worker, Fiber *fiber) noexcept;

/// What any worker may take, from any thread: a letter, or a chain of them from the newest to the
/// oldest. Lock-free, and needs no memory. Wakes nobody.
inline void Inject(Scheduler &scheduler, Letter *newest, Letter *oldest) noexcept {
    scheduler.injector.Push(newest, oldest);
    scheduler.notices.Show(Notices::kInjected);
}
inline void Inject(Scheduler &scheduler, Letter *letter) noexcept {
    Inject(scheduler, letter, letter);
}

/// What only that worker may run, likewise.
inline void PushMail(Worker &target, Letter *newest, Letter *oldest) noexcept {
    target.mailbox.Push(newest, oldest);
}
inline void PushMail(Worker &target, Letter *letter) noexcept { PushMail(target, letter, letter); }

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

/// `count` tasks were published: wakes `count` sleepers, less one for each worker that searches.
/// The caller itself wakes at most three sleepers, and divides the remaining wake-ups among these
/// (Worker::toWake). A woken worker first finds work, then wakes its share of sleepers in the same
/// way. So the time until n sleepers are awake grows as log3(n). `share`: wake-ups that the worker
/// which woke the caller left to it. If the new tasks need fewer sleepers, so many are woken
/// nevertheless.
void WakeWanted(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t share) noexcept;
inline void WakeForTasks(Scheduler &scheduler, Worker *worker, uint32_t count,
                         uint32_t share = 0) noexcept {
    if (WEFT_UNLIKELY(share != 0 || scheduler.idle.Wanted(count)))
        WakeWanted(scheduler, worker, count, share);
}

/// `count` tasks or ready fibers of a level that only some groups run were published. Wakes up to
/// two sleepers of these groups, starved ones too, and ignores searchers. If no sleeper of the
/// groups is left, wakes all restricted sleepers, unless the level is Low. A worker that is awake
/// looks for work before it sleeps.
void WakeForGroups(Scheduler &scheduler, Worker *worker, uint32_t count, Level level) noexcept;

/// `count` tasks of one level were published. Calls WakeForGroups if only some workers run the
/// level, else WakeForTasks.
inline void WakeForLevel(Scheduler &scheduler, Worker *worker, uint32_t count,
                         Level level) noexcept {
    if (IsDivided(scheduler, level))
        WakeForGroups(scheduler, worker, count, level);
    else
        WakeForTasks(scheduler, worker, count);
}

/// `count` tasks of unknown levels were published. Calls WakeForTasks, and WakeForGroups for each
/// level that only some workers run.
void WakeForAllLevels(Scheduler &scheduler, Worker *worker, uint32_t count,
                      uint32_t share = 0) noexcept;

/// A ready fiber was published, or anything: wakes a sleeper, if nobody searches.
void WakeForAny(Scheduler &scheduler, Worker *worker) noexcept;

/// The same, but wakes nobody that waits with Meanwhile::OwnTasks.
void WakeOther(Scheduler &scheduler, Worker *worker) noexcept;

/// Wakes that worker if it sleeps.
inline void WakeAt(Scheduler &scheduler, uint32_t index) noexcept {
    if (scheduler.idle.TakeSleeperAt(index)) scheduler.workers[index].parker.Unpark();
}

/// Wakes once each sleeper with that ability that `wants(worker)`. Not for Ability::Tasks.
template <class Wants>
void WakeEach(Scheduler &scheduler, Ability ability, Wants wants) noexcept {
    scheduler.idle.TakeEach(scheduler.Slots(), ability, wants,
                            [&](uint32_t index) { scheduler.workers[index].parker.Unpark(); });
}

/// A small fiber was freed: wakes a worker that sleeps for want of one.
void WakeStarved(Scheduler &scheduler, Worker *worker) noexcept;

/// A Large fiber is free, and a Large task may wait: shows the notices again and wakes workers.
void WakeForFreeLarge(Scheduler &scheduler, Worker *worker) noexcept;

/// Wakes all that sleep: one of them, nobody knows which, has something to do.
void WakeEverySleeper(Scheduler &scheduler) noexcept;

/// Wakes everybody, to go home.
void WakeAll(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
