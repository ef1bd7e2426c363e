// Tasks that begin after a counter has reached a value, or at a point in time. They hold no fiber
// until then.
//
//     weft::Counter loaded, shown;
//     scheduler->AddTasks(count, loads, &loaded);
//     weft::AddTaskAfter(*scheduler, &loaded, 0, show, &shown);  // after all loads
//     weft::AddTasksAfter(*scheduler, &loaded, 0, 200, links, &shown);  // a batch
//     weft::AddTaskAt(*scheduler, weft::Now() + 1s, hide);       // in a second
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

namespace weft {

/// Submits `task` once `after` drops to `value` or less. The task sees everything that the counted
/// tasks wrote.
///
/// The task counts as pending at once: the run waits for it, and `counter`, if given, is
/// incremented now and decremented when the task has finished. `after` must live until it has
/// dropped to `value`; weft does not access it later. If `counter == after`, `after` also counts
/// the new task, so `value` must be at least 1: with 0 the task would wait for itself (BadOption).
///
/// Returns false, after a report, if nothing was submitted: NullCounter, NullTask, BadOption,
/// NotRunning, RunEnding, InHook, CounterOverflow, WrongScheduler; OutOfMemory if there is no
/// memory for the task, or if more than 262,144 submissions wait for counters or times. Thread-safe
/// while the scheduler runs. Does not block, unless there is no memory for a wait record: then it
/// reports OutOfMemory and waits for `after` itself. A hook cannot wait; there nothing is
/// submitted.
WEFT_API bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                           Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

/// Stands for tasks that wait for a counter or for a time, for Withdraw. A copyable value. An empty
/// one stands for no tasks.
struct DeferredHandle {
    bool IsEmpty() const noexcept { return index == ~0u; }

    uint32_t index = ~0u;  // all are weft's own
    uint32_t generation = 0;
    uint32_t run = 0;
};

/// Withdraws tasks that were submitted by AddTasksAfter, AddTaskAfter or AddTaskAt with this
/// handle.
///
/// Returns true if the call was in time: then the tasks never run. They count as finished soon, so
/// neither their counter nor the end of the run waits for what they waited for. Returns false if
/// the tasks were submitted already, or have been withdrawn, or if the handle is empty or of
/// another run or scheduler; and after a report: NotRunning, InHook. A TaskGroup withdraws its
/// tasks when it is cancelled.
///
/// The counters that the tasks waited for keep a small record until they are reached, also if they
/// are destroyed before. If one is never reached, do not use it in another run. A wait with
/// Meanwhile::OwnTasks does not find the tasks on which tasks with a handle or a group depend. Does
/// not block. Thread-safe.
WEFT_API bool Withdraw(TaskScheduler &scheduler, DeferredHandle handle) noexcept;

/// A counter and a value of it: reached once the counter has dropped to the value or less.
struct CounterTarget {
    Counter *counter = nullptr;
    uint32_t value = 0;
};

/// Submits `count` tasks as one batch once each of the `afterCount` counters in `after` has dropped
/// to its value or less. The tasks see everything that the counted tasks wrote.
///
/// Each counter only has to reach its value once after the call has begun, even for a moment. Not
/// all of them have to be there at the same time. The counters may be reached in any order, and
/// may repeat. If `afterCount` is 0, the tasks are submitted now.
///
/// The tasks count as pending at once: the run waits for them, and `counter`, if given, is
/// increased by `count` now and decremented as each task has finished. `after` and `tasks` are
/// copied. Each counter must live until it has dropped to its value and this call has returned;
/// weft does not access it later. If `counter` is also one of the counters in `after`, it counts
/// the new tasks there, too, so its value must be at least `count` (BadOption).
///
/// If `count` is 0, nothing happens. Returns false, after a report, if nothing was submitted; the
/// reports are those of AddTaskAfter. Thread-safe while the scheduler runs. Does not block, unless
/// there is no memory for a wait record: see AddTaskAfter. `handle`, if given, stands for the tasks
/// in Withdraw.
///
/// The tasks lie in chunks of up to 252 tasks. Memory is allocated only while more chunks are in
/// use than ever before in the run.
WEFT_API bool AddTasksAfter(TaskScheduler &scheduler, uint32_t afterCount,
                            const CounterTarget *after, uint32_t count, const Task *tasks,
                            Counter *counter = nullptr, const TaskOptions &options = {},
                            DeferredHandle *handle = nullptr) noexcept;

/// The same after one counter.
inline bool AddTasksAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, uint32_t count,
                          const Task *tasks, Counter *counter = nullptr,
                          const TaskOptions &options = {},
                          DeferredHandle *handle = nullptr) noexcept {
    const CounterTarget target{after, value};
    return AddTasksAfter(scheduler, 1, &target, count, tasks, counter, options, handle);
}

/// The same for one task after several counters.
inline bool AddTaskAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                         Task task, Counter *counter = nullptr, const TaskOptions &options = {},
                         DeferredHandle *handle = nullptr) noexcept {
    return AddTasksAfter(scheduler, afterCount, after, 1, &task, counter, options, handle);
}

/// Submits `task` at `time`, or now if `time` has passed.
///
/// The task counts as pending at once: the run waits for it, and `counter`, if given, is
/// incremented now and decremented when the task has finished. So a time that never comes,
/// Clock::time_point::max(), is an error (BadOption). If the time is an hour away, Stop waits for
/// an hour, unless Withdraw or StopFor (weft/time.h) withdraws the task. Tasks with the same time
/// are submitted in the order of the calls. If one worker runs all of them, they usually begin in
/// this order, but this is not guaranteed. A task can be late by as much as a wait with a deadline
/// (weft/time.h).
///
/// Returns false, after a report, if nothing was submitted: NullTask, BadOption, NotRunning,
/// RunEnding, InHook, CounterOverflow, WrongScheduler; OutOfMemory as in AddTaskAfter. `handle`, if
/// given, stands for the task in Withdraw. Thread-safe while the scheduler runs.
WEFT_API bool AddTaskAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                        Counter *counter = nullptr, const TaskOptions &options = {},
                        DeferredHandle *handle = nullptr) noexcept;

namespace internal {

/// Like AddTaskAfter, but StopFor does not withdraw the task.
WEFT_API bool AddKeptTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                               Counter *counter, const TaskOptions &options) noexcept;

/// Like AddTaskAfter and AddTaskAt, but `counter` counts the new task in place of the calling one,
/// so its value does not change. For a task that `counter` counts and that ends right after the
/// call.
WEFT_API bool ContinueAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                            Counter *counter, const TaskOptions &options) noexcept;
WEFT_API bool ContinueAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                         Counter *counter, const TaskOptions &options) noexcept;

/// A wait for a counter until a deadline, between ContinueAfterOrAt and EndTimedWait. The object
/// stays where it is meanwhile.
struct TimedWait {
    static constexpr uint32_t kNone = ~0u;
    Counter *awaited = nullptr;
    uint32_t value = 0;
    uint32_t wait = kNone;   // its number among the scheduler's waits; kNone: there is no wait
    bool isReached = false;  // the counter was reached, and the wait has ended
};

/// Like ContinueAfter, but submits the task at `deadline` at the latest. The task must call
/// EndTimedWait. If this returns false, the wait has ended, and EndTimedWait only looks.
WEFT_API bool ContinueAfterOrAt(TaskScheduler &scheduler, TimedWait &wait,
                                Clock::time_point deadline, Task task, Counter *counter,
                                const TaskOptions &options) noexcept;
/// Ends the wait, on any worker. Returns true if the counter has reached the value.
WEFT_API bool EndTimedWait(TaskScheduler &scheduler, TimedWait &wait) noexcept;

}  // namespace internal
}  // namespace weft
