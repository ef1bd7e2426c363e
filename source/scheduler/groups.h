// Which workers run what: the groups of SchedulerOptions::groups, and the sets of groups that tasks name.
//
// Each set gets a number when a task names it for the first time (level.h). Scheduler::groupsOf says which groups run a level, and
// Worker::runs says the same for one worker. A worker keeps the tasks that it submits in its own lanes, also those that it may not run:
// workers of their groups take these from there. So a group needs no queue of its own.
//
// Where all workers run a level, a searching worker will find what comes, and nobody need be woken for it. Where only some do, no
// searcher counts: WakeForGroups (ready.h) wakes sleepers of the level's groups, and one that is awake looks before it sleeps (idle_set.h).
//
// seq_cst, groupsOf and runs, where they are written and in the last look before sleep. A set is written before its first task
// is published. Either the worker that announces that it sleeps sees the set, or who publishes the task sees the announcement.
#pragma once

#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// The groups of the options, or one of all workers; set 0; and what each worker runs. False: no memory.
bool AcquireGroups(Scheduler &scheduler) noexcept;

/// The number of the set that names these groups (at least one, and one that there is). kSets: there are too many sets already.
uint32_t NewSet(Scheduler &scheduler, uint8_t groups) noexcept;
inline uint32_t SetOf(Scheduler &scheduler, uint8_t groups) noexcept {
    if (scheduler.groupCount == 1) return 0;
    const uint32_t known = scheduler.setOf[groups].load(kAcquire);  // pairs with NewSet
    return WEFT_LIKELY(known != 0) ? known - 1 : NewSet(scheduler, groups);
}

/// See TaskScheduler::SetLowGroups. The groups have been checked. Wakes nobody.
void SetLow(Scheduler &scheduler, uint8_t groups) noexcept;

/// Whether the worker's group runs the level. seq_cst: see above.
inline bool Runs(const Worker &worker, Level level) noexcept { return (worker.runs.load(kSeqCst) & level.Bit()) != 0; }

/// Whether some workers do not run the level.
inline bool IsDivided(const Scheduler &scheduler, Level level) noexcept {
    return WEFT_UNLIKELY(scheduler.groupCount > 1) &&
           scheduler.groupsOf[level.Index()].load(kSeqCst) != scheduler.AllGroups();
}

/// Whether the same groups run the level at a higher priority. Not so for Low tasks that name no groups, if others run these.
inline bool MayRaise(const Scheduler &scheduler, Level level) noexcept {
    return level.Set() != 0 || !IsDivided(scheduler, level);
}

/// The level at which a task runs on top of one that waits. After a wait both go on where that level runs, so both must run in all its groups.
/// None if there is no such level: then the task must not run there. By value, as callers must not keep it in memory.
Level LevelOnTopOf(const Scheduler &scheduler, Level waiter, Level task) noexcept;
inline Level LevelOnTop(const Scheduler &scheduler, Level waiter, Level task) noexcept {
    if (WEFT_UNLIKELY(scheduler.groupCount > 1)) return LevelOnTopOf(scheduler, waiter, task);
    return waiter.At(std::min(waiter.ThePriority(), task.ThePriority()));
}

/// Owner: makes its masks of what FindPlain must leave alone anew, if it runs other levels than before.
void LookAtRuns(Worker *worker) noexcept;

/// Owner: makes sure that the queues of a set exist. False: no memory.
bool AcquireNewSet(Worker &worker, uint32_t set) noexcept;
inline bool AcquireSet(Worker &worker, uint32_t set) noexcept {
    return WEFT_LIKELY((worker.setsAcquired >> set & 1) != 0) || AcquireNewSet(worker, set);
}

/// Submissions: the set that the options name, or else that of the calling task. The options have been checked. `worker`: the caller's, or
/// null.
inline Label LabelInGroups(Scheduler &scheduler, const Worker *worker, const TaskOptions &options) noexcept {
    uint32_t set = worker != nullptr ? worker->current->level.Set() : 0;
    if (options.groups != 0) set = SetOf(scheduler, options.groups);
    return {LaneOf({options.priority, set}, options.stack), options.name};
}
inline Label LabelOf(const Worker *worker, const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(worker->scheduler->groupCount > 1)) return LabelInGroups(*worker->scheduler, worker, options);
    return {PlainLaneOf(options.priority, options.stack), options.name};
}

}  // namespace weft::internal
