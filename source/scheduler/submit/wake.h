// Telling workers that there is work: notices for those that are awake, wake-ups for those that
// sleep.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/scheduler.h"

#include <cstdint>

namespace weft::internal {

/// Tells of what was just published in the worker's own lane.
void ShowSpecialLane(Worker *worker, uint32_t lane) noexcept;

inline void ShowLane(Worker *worker, uint32_t lane) noexcept {
    if (WEFT_UNLIKELY(lane != LaneOf(Priority::Normal, StackClass::Small)))
        ShowSpecialLane(worker, lane);
}

/// The same of a High or Low level of which there is something.
void ShowLevel(Scheduler &scheduler, Level level) noexcept;

/// Whether some worker is open that runs all levels of `runs`. It looks for work of all of these
/// after its current task. An attached thread may never look. relaxed: an older answer costs no
/// more than the time until the next dig.
bool AnyOpen(const Scheduler &scheduler, uint32_t runs) noexcept;

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

/// Call after something has been published and no other sleeper could be woken. Wakes the workers
/// that sleep in waits with OwnTasks if no worker is open.
void WakeOwnNow(Scheduler &scheduler) noexcept;

inline void WakeOwn(Scheduler &scheduler) noexcept {
    if (WEFT_UNLIKELY(scheduler.idle.AnyOwnSleeper())) WakeOwnNow(scheduler);
}

/// Wakes that worker if it sleeps.
inline void WakeAt(Scheduler &scheduler, uint32_t index) noexcept {
    if (scheduler.idle.TakeSleeperAt(index)) scheduler.workers[index].parker.Unpark();
}

/// Wakes once each sleeper with that mode that `wants(worker)`. Not for WorkerMode::Tasks.
template <class Wants>
void WakeEach(Scheduler &scheduler, WorkerMode mode, Wants wants) noexcept {
    scheduler.idle.TakeEach(scheduler.Slots(), mode, wants,
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

/// Call after pushing a Large task to a lane: a worker that has just scanned the lanes may have
/// missed it.
void CountLarge(Scheduler &scheduler) noexcept;

/// Asks a worker to look for a waiter that can take a task of the class (find/rescue.h); or the
/// other workers that run the level. Call it when the task is in a lane.
void Ask(Worker &worker, StackClass stack) noexcept;
void AskGroups(Scheduler &scheduler, const Worker *worker, StackClass stack, Level level) noexcept;

/// Call after publishing a task in a lane of this worker. If only some groups run the level, and a
/// worker is starved, asks the workers of these groups to look for waiters. Wakes nobody.
void AskForRescue(const Worker *worker, Level level) noexcept;

}  // namespace weft::internal
