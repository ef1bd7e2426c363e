// Notifies workers that there is work: shows notices for workers that are awake, and wakes workers
// that sleep.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/trace.h"

#include <cstdint>

namespace weft::internal {

/// Shows the notices for what was just published in the worker's own lane.
void ShowSpecialLane(Worker *worker, uint32_t lane) noexcept;

inline void ShowLane(Worker *worker, uint32_t lane) noexcept {
    if (WEFT_UNLIKELY(lane != LaneOf(Priority::Normal, StackClass::Small)))
        ShowSpecialLane(worker, lane);
}

/// Shows the notice for a High or Low level of which something was published.
void ShowLevel(Scheduler &scheduler, Level level) noexcept;

/// Returns true if some worker is open (find/own_tasks.h) and runs all levels in `runs`. After its
/// current task it looks for work of all these levels. Attached threads do not count, because such
/// a thread may never look. relaxed: an older answer costs no more than the time until the next
/// dig.
bool AnyOpen(const Scheduler &scheduler, uint32_t runs) noexcept;

/// Call it after `count` tasks were published. Wakes `count` sleepers, minus one for each worker
/// that searches. The caller itself wakes at most three sleepers, and divides the remaining
/// wake-ups among these (Worker::toWake). A woken worker first finds work, then wakes its share of
/// sleepers in the same way. So the time until n sleepers are awake grows as log3(n). `share`: the
/// wake-ups that the caller's waker left to it. At least this many sleepers are woken, even if the
/// new tasks need fewer. `counter`: the counter of the tasks, or null if the caller does not know.
void WakeWanted(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t share,
                const Counter *counter) noexcept;

// The same, with a cheap check first.
inline void WakeForTasks(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t share = 0,
                         const Counter *counter = nullptr) noexcept {
    if (WEFT_UNLIKELY(share != 0 || scheduler.idle.Wanted(count)))
        WakeWanted(scheduler, worker, count, share, counter);
}

/// Call it after `count` tasks or ready fibers were published, of a level that only some groups
/// run. Wakes up to two sleepers of these groups, starved ones too, and ignores searchers. If no
/// sleeper of the groups is left, wakes all restricted sleepers, unless the level is Low. A worker
/// that is awake looks for work before it sleeps.
void WakeForGroups(Scheduler &scheduler, Worker *worker, uint32_t count, Level level,
                   const Counter *counter = nullptr) noexcept;

/// Call it after `count` tasks of one level were published. Calls WakeForGroups if only some
/// workers run the level, else WakeForTasks.
inline void WakeForLevel(Scheduler &scheduler, Worker *worker, uint32_t count, Level level,
                         const Counter *counter = nullptr) noexcept {
    if (IsDivided(scheduler, level))
        WakeForGroups(scheduler, worker, count, level, counter);
    else
        WakeForTasks(scheduler, worker, count, 0, counter);
}

/// Call it after `count` tasks of unknown levels were published. Calls WakeForTasks, and
/// WakeForGroups for each level that only some workers run.
void WakeForAllLevels(Scheduler &scheduler, Worker *worker, uint32_t count,
                      uint32_t share = 0) noexcept;

/// Call it after an entry that a worker had taken out of a lane for a moment is in a lane again.
/// Wakes a sleeper that has a fiber and runs the level, because it may have missed the entry. If
/// there is none, wakes the restricted sleepers that have a fiber.
void WakeForEntry(Scheduler &scheduler, Worker *worker, Level level) noexcept;

/// Call it after a ready fiber or anything else was published. Wakes a sleeper, if no worker
/// searches.
void WakeForAny(Scheduler &scheduler, Worker *worker) noexcept;

/// The same, but wakes no worker that waits with Meanwhile::OwnTasks.
void WakeOther(Scheduler &scheduler, Worker *worker) noexcept;

/// Call it after something was published and no other sleeper could be woken. Wakes the workers
/// that sleep in waits with OwnTasks for `counter`. If no worker is open, wakes all that sleep in
/// waits with OwnTasks.
void WakeOwnNow(Scheduler &scheduler, Worker *worker, const Counter *counter) noexcept;

inline void WakeOwn(Scheduler &scheduler, Worker *worker, const Counter *counter) noexcept {
    if (WEFT_UNLIKELY(scheduler.idle.AnyOwnSleeper())) WakeOwnNow(scheduler, worker, counter);
}

/// Wakes a worker that the caller has taken from the sleepers. `worker`: the caller's, or null.
inline void Unpark(Scheduler &scheduler, Worker *worker, uint32_t sleeper) noexcept {
    if (worker != nullptr) AddTo(worker->wakes, 1);
    Emit(scheduler, worker, TraceKind::Wake, [=](TraceEvent &event) { event.other = sleeper; });
    scheduler.workers[sleeper].parker.Unpark();
}

/// Wakes that worker if it sleeps.
inline void WakeAt(Scheduler &scheduler, Worker *worker, uint32_t index) noexcept {
    if (scheduler.idle.TakeSleeperAt(index)) Unpark(scheduler, worker, index);
}

/// Wakes each sleeper in that mode for which wants(index) is true, once. Not for WorkerMode::Tasks.
template <class Wants>
void WakeEach(Scheduler &scheduler, Worker *worker, WorkerMode mode, Wants wants) noexcept {
    scheduler.idle.TakeEach(scheduler.Slots(), mode, wants,
                            [&](uint32_t index) { Unpark(scheduler, worker, index); });
}

/// Call it after a small fiber was freed. Wakes a worker that sleeps because it lacks one.
void WakeStarved(Scheduler &scheduler, Worker *worker) noexcept;

/// Call it after a Large fiber was freed, if there may be a Large task. Shows the notices again and
/// wakes workers.
void WakeForFreeLarge(Scheduler &scheduler, Worker *worker) noexcept;

/// Wakes all sleepers. For callers that do not know which of them has something to do.
void WakeEverySleeper(Scheduler &scheduler, Worker *worker) noexcept;

/// Wakes all workers at the end of the run.
void WakeAll(Scheduler &scheduler, Worker *worker) noexcept;

/// Call it after a Large task was put into a lane. If no Large fiber is free, workers that have
/// just gone through the lanes do so again before they sleep.
void CountLarge(Scheduler &scheduler) noexcept;

/// Ask: asks a worker to look for a waiter that can take a task of the class (find/rescue.h).
/// AskGroups: asks all other workers that run the level. Call them when the task is in a lane.
void Ask(Worker &worker, StackClass stack) noexcept;
void AskGroups(Scheduler &scheduler, const Worker *worker, StackClass stack, Level level) noexcept;

/// Call it after a task was published in a lane of this worker. If only some groups run the level,
/// and a worker is starved, asks the workers of these groups to look for waiters. Wakes no worker.
void AskForRescue(const Worker *worker, Level level) noexcept;

}  // namespace weft::internal
