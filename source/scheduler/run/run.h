// Runs work, and what a worker does between tasks: it switches fibers, searches, sleeps, and ends
// the run.
#pragma once

#include "platform/compiler.h"
#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"

namespace weft::internal {

// Work (run_work.cpp).

/// The function of each fiber of the pool: runs work until the scheduler ends.
FiberContext *FiberMain(void *fiber) noexcept;

/// Called in the handler of an exception that has left a task: it goes to the group, or is
/// reported.
void TaskThrew(const Fiber &self, TaskGroup *group) noexcept;
/// For debug builds: reports and restores control words that the task has changed.
void CheckFloatingPoint(const Fiber &self, uint64_t before) noexcept;
/// Called instead of the function of a task that is skipped. If it is a closure, destroys it.
void SkipTask(const Fiber &self, Task task) noexcept;

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
#endif
        if (WEFT_UNLIKELY(group != nullptr) && TaskGroupAccess::Skips(*group))
            SkipTask(self, task);
        else
            task.function(scheduler, task.arg);
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    } catch (...) {
        TaskThrew(self, group);
    }
#endif
#if defined(WEFT_DEBUG)
    CheckFloatingPoint(self, floatingPoint);
#endif
    race::Leaves(self.worker);
}

/// Call it after each task. If the task has forked, and this is the child process, ends it: no
/// other worker exists here, and the tasks here are the parent's to run.
WEFT_FORCEINLINE void EndIfForked(const Worker &worker) noexcept {
    if (WEFT_UNLIKELY(*worker.home == nullptr)) EndForkedTask(*worker.scheduler);
}

/// Runs a task that is not of a chunk. Does not count it.
WEFT_FORCEINLINE void RunTask(const Fiber &self, Task task, TaskGroup *group) noexcept {
    CallTask(self, self.worker->taskScheduler, task, group);
    EndIfForked(*self.worker);
}

/// The same for the task of an entry.
void RunTraced(Fiber &self, const Entry &entry) noexcept;

/// Runs tasks of a chunk, which count as finished then. The rest of the chunk may run elsewhere.
void RunChunk(Fiber &self, Chunk &chunk) noexcept;

/// Runs the task or the chunk on this fiber. What has run counts as finished then.
WEFT_FORCEINLINE void RunEntry(Fiber &self, const Entry &entry) noexcept {
    if (entry.TheKind() == Entry::Chunk) return RunChunk(self, entry.TheChunk());
    Counter *const counter = entry.TheCounter();
    if (!IsTraced(*self.worker->scheduler))
        RunTask(self, entry.UntracedTask(), GroupOf(entry));
    else
        RunTraced(self, entry);
    Ran(*self.worker, counter, 1);
}

// Fibers (fiber_switch.cpp).

/// Takes a free fiber of the pool, which then begins with `start`, or else searches. Returns null
/// if there is none.
Fiber *AcquireFiber(Worker &worker, const Work &start = {}) noexcept;

/// Leaves `from` for `to`, on the worker's thread. Returns when some worker continues `from`.
/// `destination`: where `from` goes. The worker's claim must be empty.
void SwitchTo(Fiber &from, Fiber &to, Destination destination) noexcept;

/// The first act of each context: carries out the destination of the fiber that was left.
void FinishSwitch(Worker &worker) noexcept;

/// Leaves `self` for the next work, or for a free fiber that searches. If no fiber is free, `self`
/// may run the work itself and is not left (WithoutFiber).
void Suspend(Fiber &self, Destination destination) noexcept;

// A worker without a free fiber (rescue.cpp).

/// Returns a fiber that waits for the task, directly or through other tasks. It has the work then,
/// and runs it before it goes on waiting. Returns null if there is none: the work is the caller's.
Fiber *Rescue(Worker &worker, const Work &work) noexcept;

/// Sends work that cannot begin now behind all others.
void PutBehind(Worker &worker, const Work &work) noexcept;

/// `self` is about to be left, but no fiber is free to begin `work` (which may be nothing). Returns
/// the fiber that the worker continues with: `self` if it has taken the work itself (see
/// Fiber::start) and is not left; otherwise one that waits, or the thread's own stack.
Fiber *WithoutFiber(Fiber &self, Destination destination, const Work &work) noexcept;

// A worker without work (idle_loop.cpp).

/// Searches and sleeps on the calling fiber until there is work. Returns false at the end of the
/// run.
bool FindWork(Worker &worker, Work &work) noexcept;

/// The loop of a worker on its thread's own stack: before its first fiber, after the last, and
/// while no fiber is free. Returns at the end of the run.
void ThreadLoop(Worker &worker) noexcept;

// The end of the run, and the answers to WaitIdle (ending.cpp). Both come when nothing is pending.
// `worker`: the caller's, or null.

/// The main task has returned, or Stop was called: the run ends when nothing is pending.
/// `withdrawsAt`: when StopFor withdraws tasks, or kNever.
void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt = Timers::kNever) noexcept;

/// Ends the run if nothing is pending, no external thread is inside a call or waits, and the end is
/// wanted. Returns true if the run is over.
bool EndRun(Scheduler &scheduler, Worker *worker) noexcept;

/// Answers the calls of WaitIdle if nothing is pending but the tasks that made them. A worker calls
/// it after it has announced its sleep. Returns true if a call was answered.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// Calls AnswerIdleRequests before an attached thread returns to the host's code.
void AnswerBeforeHost(Worker &worker) noexcept;

}  // namespace weft::internal
