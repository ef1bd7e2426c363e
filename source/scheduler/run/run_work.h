// Runs tasks, and the loop of each fiber of the pool.
#pragma once

#include "platform/compiler.h"
#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Called in the handler of an exception that has left a task: it goes to the group, or is
/// reported.
void TaskThrew(const Fiber &self, TaskGroup *group) noexcept;
/// For debug builds: reports and restores control words that the task has changed.
void CheckFloatingPoint(const Fiber &self, uint64_t before) noexcept;
/// Called instead of the function of a task that is skipped.
void SkipTask(const Fiber &self, Task task) noexcept;

WEFT_FORCEINLINE void CallOrSkip(const Fiber &self, TaskScheduler *scheduler, Task task,
                                 TaskGroup *group) {
    if (WEFT_UNLIKELY(group != nullptr) && TaskGroupAccess::Skips(*group))
        return SkipTask(self, task);
    task.function(scheduler, task.arg);
}

/// Calls the function of a task, unless its group is cancelled. `group`: null if there is none.
WEFT_FORCEINLINE void CallTask(const Fiber &self, TaskScheduler *scheduler, Task task,
                               TaskGroup *group) noexcept {
    race::Starts(task);
    race::RunsOn(self.worker);
#if defined(WEFT_DEBUG)
    const uint64_t floatingPoint = FloatingPointControl();
#endif
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
        CallOrSkip(self, scheduler, task, group);
    } catch (...) {
        TaskThrew(self, group);
    }
#else
    CallOrSkip(self, scheduler, task, group);
#endif
#if defined(WEFT_DEBUG)
    CheckFloatingPoint(self, floatingPoint);
#endif
    race::Leaves(self.worker);
}

/// Call it after each task. If the task has forked, and this is the child process, ends it: no
/// other worker exists here, and the tasks here are the parent's to run.
WEFT_FORCEINLINE void EndIfForked(const Scheduler &scheduler, void *const *home) noexcept {
    if (WEFT_UNLIKELY(*home == nullptr)) EndForkedTask(scheduler);
}

/// Runs a task that is not of a chunk. Does not count it.
WEFT_FORCEINLINE void RunTask(const Fiber &self, Task task, TaskGroup *group) noexcept {
    CallTask(self, self.worker->taskScheduler, task, group);
    EndIfForked(*self.worker->scheduler, self.worker->home);
}

/// Runs a task, or tasks of a chunk, on this fiber. They count as finished then. The rest of the
/// chunk may run elsewhere.
void RunEntry(Fiber &self, const Entry &entry) noexcept;
void RunChunk(Fiber &self, Chunk &chunk) noexcept;

}  // namespace weft::internal
