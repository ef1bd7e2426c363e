// Calls a task's function. No other file does.
#pragma once

#include "platform/compiler.h"
#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/pending.h"

#include <exception>

namespace weft::internal {

// Sets what the fiber runs while this object lives: the task's name, for reports (relaxed: nothing
// depends on it), and its level. For a task that runs on top of a waiting one, LevelOnTop gives the
// level.
class Running {
public:
    Running(Fiber *fiber, const char *name, Level level) noexcept
        : m_fiber(fiber), m_outer(fiber->taskName.load(kRelaxed)), m_outerLevel(fiber->level) {
        m_fiber->taskName.store(name, kRelaxed);
        m_fiber->level = level;
    }
    ~Running() {
        m_fiber->taskName.store(m_outer, kRelaxed);
        m_fiber->level = m_outerLevel;
    }
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

private:
    Fiber *m_fiber;
    const char *m_outer;
    Level m_outerLevel;
};

/// Called instead of the function of a task that is skipped: destroys it, if it is a closure.
void SkipTask(const Fiber *self, const Task &task) noexcept;

/// Calls the function of a task, unless its group is cancelled. `group`: null if there is none.
WEFT_FORCEINLINE void CallOrSkip(Fiber *self, TaskScheduler *taskScheduler, const Task &task,
                                 TaskGroup *group) {
    if (WEFT_UNLIKELY(group != nullptr) && TaskGroupAccess::Skips(*group))
        return SkipTask(self, task);
    task.function(taskScheduler, task.arg);
}

/// Called in a handler of an exception that has left a task. The group keeps it, if there is one.
inline bool IsKept(TaskGroup *group) noexcept {
    if (group != nullptr) TaskGroupAccess::Fail(*group, std::current_exception());
    return group != nullptr;
}

/// Calls the function of a task. Stops an exception that leaves the task, and in debug builds
/// restores changed floating-point control words. Both are reported. `kWatched`: tasks are traced,
/// or the task belongs to a group. A group keeps the exception, and skips the task if the group is
/// cancelled: in a trace, such a task ends when it begins.
template <bool kWatched>
inline void CallTask(Fiber *self, TaskScheduler *taskScheduler, const Task &task,
                     const Origin &origin) noexcept {
    StackSample sample;
    const bool isTraced = kWatched && IsTraced(*self->worker->scheduler);
    const uint64_t outerId = isTraced ? self->taskId : 0;
    if (isTraced) TraceTask(self, TraceKind::TaskBegin, task, origin, sample);
    TaskGroup *const group = kWatched ? origin.group : nullptr;
    race::Starts(task);
    race::RunsOn(self->worker);
#if defined(WEFT_DEBUG)
    const uint64_t floatingPoint = FloatingPointControl();
#endif
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
        CallOrSkip(self, taskScheduler, task, group);
    } catch (const std::exception &exception) {
        if (!IsKept(group)) ReportThrown(*self->worker->scheduler, exception.what());
    } catch (...) {
        CheckThreadStays();
        if (!IsKept(group)) ReportThrown(*self->worker->scheduler, "not a std::exception");
    }
#else
    CallOrSkip(self, taskScheduler, task, group);
#endif
    // The task has forked, and this is the child process. No other worker exists here, and the
    // tasks here are the parent's to run.
    if (WEFT_UNLIKELY(*self->worker->home == nullptr)) EndForkedTask(*self->worker->scheduler);
#if defined(WEFT_DEBUG)
    if (FloatingPointControl() != floatingPoint) {
        SetFloatingPointControl(floatingPoint);
        ReportMistake(self->worker->scheduler->options, ReportCode::FloatingPointState,
                      "Restore rounding and flush-to-zero before the task returns; the next task "
                      "runs on the same stack.",
                      "the task returned with other floating-point control words");
    }
#endif
    race::Leaves(self->worker);
    if (isTraced) {
        TraceTask(self, TraceKind::TaskEnd, task, origin, sample);
        self->taskId = outerId;
    }
}

/// Runs one task that was not claimed, on the calling fiber. The fiber may be on another worker
/// afterwards. `originOf`: returns the Origin; called only if the task is watched.
template <class OriginOf>
WEFT_FORCEINLINE void RunTask(Fiber *self, const Task &task, const char *taskName, Level level,
                              OriginOf originOf, bool isOfGroup = false) noexcept {
    const Running running(self, taskName, level);
    const Worker &worker = *self->worker;
    if (WEFT_UNLIKELY(IsTraced(*worker.scheduler) || isOfGroup)) {
        CallTask<true>(self, worker.taskScheduler, task, originOf());
    } else {
        CallTask<false>(self, worker.taskScheduler, task, {});
    }
}

WEFT_FORCEINLINE void RunTask(Fiber *self, const TaskEntry &entry, Level level) noexcept {
    const auto originOf = [&] {
        Origin origin{entry.TheCounter(), entry.TaskId()};
        if (entry.IsOfGroup()) origin.group = TaskGroupAccess::Of(entry.TheCounter());
        return origin;
    };
    RunTask(self, entry.TheTask(), entry.Name(), level, originOf, entry.IsOfGroup());
}

/// Runs a task that was taken from a lane without a claim, and notes that it has finished.
inline void RunEntry(Fiber *self, const TaskEntry &entry, Level level) noexcept {
    RunTask(self, entry, level);
    NoteFinished(self->worker, entry.TheCounter(), 1);
}

/// Runs the worker's claim on `self`, the calling fiber, and notes which tasks have finished. The
/// fiber may be on another worker when this returns.
void RunClaim(Fiber *self) noexcept;

}  // namespace weft::internal
