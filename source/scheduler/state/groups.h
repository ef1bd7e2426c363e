// Which workers run which levels: the groups of SchedulerOptions::groups, and the sets of groups
// that tasks name.
//
// Each set gets a number when a task names it for the first time (level.h). Scheduler::groupsOf
// says which groups run a level, and Worker::runs says the same for one worker. A worker keeps the
// tasks that it submits in its own lanes, even if it may not run them: workers of the tasks' groups
// steal them from there. So a group needs no queue of its own.
//
// If all workers run a level, a searching worker finds its tasks, and no sleeper has to be woken.
// If only some groups run it, a searcher may belong to another group. So WakeForGroups
// (submit/wake.h) ignores searchers and wakes sleepers of the level's groups. A worker of these
// groups that is awake looks for tasks once more before it sleeps (core/idle_set.h).
//
// groupsOf and runs are written with seq_cst, and read with seq_cst in the worker's last look
// before it sleeps. A set is written before its first task is published. So either the worker that
// announces its sleep sees the set in that look, or the publisher of the task sees the
// announcement.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Copies the groups of the options, or makes one group of all workers. Sets the groups of set 0
/// and `runs` of each worker. Returns false if there is no memory.
bool AcquireGroups(Scheduler &scheduler) noexcept;

/// Returns the number of this set of groups. Gives it a new number if it has none. `groups` must
/// not be 0 and may only name groups that exist. Returns kSets if no number is left.
uint32_t NewSet(Scheduler &scheduler, uint8_t groups) noexcept;
inline uint32_t SetOf(Scheduler &scheduler, uint8_t groups) noexcept {
    if (scheduler.groupCount == 1) return 0;
    const uint32_t known = scheduler.setOf[groups].load(kAcquire);  // pairs with NewSet
    return WEFT_LIKELY(known != 0) ? known - 1 : NewSet(scheduler, groups);
}

/// Changes the groups of Low tasks, see TaskScheduler::SetLowGroups. The caller has checked
/// `groups`. Wakes no worker.
void SetLow(Scheduler &scheduler, uint8_t groups) noexcept;

/// Returns true if the worker's group runs the level. seq_cst: see the top of this file.
inline bool Runs(const Worker &worker, Level level) noexcept {
    return (worker.runs.load(kSeqCst) & level.Bit()) != 0;
}

/// Returns true if some workers do not run the level.
inline bool IsDivided(const Scheduler &scheduler, Level level) noexcept {
    return WEFT_UNLIKELY(scheduler.groupCount > 1) &&
           scheduler.groupsOf[level.Index()].load(kSeqCst) != scheduler.AllGroups();
}

/// Returns true if a task keeps its groups when its priority is raised within its set. True for
/// every named set. False for set 0 if only some workers run the level: with lowGroups, Low tasks
/// of set 0 have other groups than Normal and High ones.
inline bool MayRaise(const Scheduler &scheduler, Level level) noexcept {
    return level.Set() != 0 || !IsDivided(scheduler, level);
}

/// Returns the level for a task that runs on top of a waiting task. After a wait the fiber
/// continues in that level's groups, so each of these groups must run both tasks. Returns
/// Level::None() if no level fits: then the task must not run on this fiber. Takes levels by value,
/// so that the caller can keep them in registers.
Level LevelOnTopOf(const Scheduler &scheduler, Level waiter, Level task) noexcept;
inline Level LevelOnTop(const Scheduler &scheduler, Level waiter, Level task) noexcept {
    if (WEFT_UNLIKELY(scheduler.groupCount > 1)) return LevelOnTopOf(scheduler, waiter, task);
    return waiter.At(std::min(waiter.ThePriority(), task.ThePriority()));
}

/// Owner only. If Worker::runs has changed, recomputes the worker's masks: runsLanes, and the
/// queues that FindPlain must not use.
void LookAtRuns(Worker *worker) noexcept;

/// Owner only. Makes sure that the worker has queues for the set. Returns false if there is no
/// memory.
bool AcquireNewSet(Worker &worker, uint32_t set) noexcept;
inline bool AcquireSet(Worker &worker, uint32_t set) noexcept {
    return WEFT_LIKELY((worker.setsAcquired >> set & 1) != 0) || AcquireNewSet(worker, set);
}

/// Returns the lane and the name for tasks that are submitted with these options. Their set is the
/// one that the options name, or else that of the calling task. The options have been checked.
/// `worker`: the caller's, or null.
inline Label LabelInGroups(Scheduler &scheduler, const Worker *worker,
                           const TaskOptions &options) noexcept {
    uint32_t set = worker != nullptr ? worker->current->level.Set() : 0;
    if (options.groups != 0) set = SetOf(scheduler, options.groups);
    return {LaneOf({options.priority, set}, options.stack), 0, options.name};
}
inline Label LabelOf(const Worker *worker, const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(worker->scheduler->groupCount > 1))
        return LabelInGroups(*worker->scheduler, worker, options);
    return {PlainLaneOf(options.priority, options.stack), 0, options.name};
}

/// Returns true if no wait keeps the worker from tasks of this priority, and from fibers of this
/// priority that are not pinned to it.
inline bool MayBegin(const Worker &worker, Priority priority) noexcept {
    return static_cast<uint32_t>(priority) < worker.mayBegin;
}

/// Returns true if neither a wait nor its group keeps the worker from work of this level.
inline bool MayRun(const Worker &worker, Level level) noexcept {
    return MayBegin(worker, level.ThePriority()) && Runs(worker, level);
}

/// Returns true if a wait restricts the worker (Meanwhile).
inline bool IsRestricted(const Worker *worker) noexcept { return worker->mayBegin != kPriorities; }

/// Returns true if a waiter of this priority may run tasks of its counter itself. A wait with
/// OwnTasks always may.
inline bool MayRunInlineAt(const Worker &worker, Priority priority) noexcept {
    return MayBegin(worker, priority) || worker.mayBegin == 0;
}

/// Returns what the worker can do if it has a fiber.
inline WorkerMode ModeOf(const Worker *worker) noexcept {
    if (WEFT_UNLIKELY(worker->own != nullptr)) return WorkerMode::OwnTasks;
    return worker->scheduler->IsActive(worker->index) ? WorkerMode::Tasks : WorkerMode::PinnedOnly;
}

/// Returns true if the worker has queues.
inline bool HasQueues(const Worker &worker) noexcept { return worker.setsAcquired != 0; }

/// Acquires the queues for set 0 and the slab of a worker that has none. Returns false if there is
/// no memory.
bool AcquireQueues(Worker &worker) noexcept;

}  // namespace weft::internal
