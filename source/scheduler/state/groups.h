// Which workers run which levels: the groups of SchedulerOptions::groups.
//
// A worker keeps the tasks that it submits in its own deques, even if it may not run them: workers
// of the group steal them from there. A sleeper says in its mask what it may run (core/idle.h). So
// a group needs no queue of its own.
//
// Others may change what a worker may run. Then they send the worker a signal through its inbox.
// When the worker takes it, it computes its filter anew.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Assigns the workers to groups, before the run begins.
void AssignGroups(Scheduler &scheduler) noexcept;

/// The slots that are in use: of no group, and of each group.
inline uint32_t SlotsInUse(const Scheduler &scheduler) noexcept {
    return (1u << (scheduler.options.groupCount + 1)) - 1;
}

/// Returns the levels that the worker may run, apart from limits of its waits. For its owner.
uint32_t RunsOf(const Scheduler &scheduler, const Worker &worker) noexcept;

/// Returns the level of tasks with these options. The group is the one that they name, or else that
/// of the calling task. If there is only one group, it is like none. `worker`: the caller's, or
/// null.
inline Level LevelOf(const Scheduler &scheduler, const Worker *worker,
                     const TaskOptions &options) noexcept {
    uint32_t slot = 0;
    if (WEFT_LIKELY(options.group == kAnyGroup))
        slot = worker != nullptr ? worker->current->level.Slot() : 0;
    else if (scheduler.options.groupCount > 1)
        slot = IsInSlot(options.group) ? SlotIn(options.group) : options.group + 1u;
    return {options.priority, slot};
}

}  // namespace weft::internal
