// Tasks that begin after a counter has reached a value, or at a point in time. They hold no fiber
// until then.
//
//     weft::Counter loaded, shown;
//     scheduler->AddTasks(count, loads, &loaded);
//     weft::AddTaskAfter(*scheduler, &loaded, 0, show, &shown);  // after all loads
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
/// NotRunning, RunEnding, InHook, CounterOverflow, WrongScheduler, OutOfMemory (in a hook).
/// Thread-safe while the scheduler runs. Does not block, unless there is no memory for a wait
/// record: then it reports OutOfMemory and waits for `after` itself. A hook cannot wait; there
/// nothing is submitted.
WEFT_API bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                           Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

/// Submits `task` at `time`, or now if `time` has passed.
///
/// The task counts as pending at once: the run waits for it, and `counter`, if given, is
/// incremented now and decremented when the task has finished. So a time that never comes,
/// Clock::time_point::max(), is an error (BadOption). Tasks with the same time are submitted in the
/// order of the calls. If one worker runs all of them, they also begin in this order as a rule, but
/// not always. A task can be late by as much as a wait with a deadline (weft/time.h).
///
/// Returns false, after a report, if nothing was submitted: NullTask, BadOption, NotRunning,
/// RunEnding, InHook, CounterOverflow, WrongScheduler. Thread-safe while the scheduler runs.
WEFT_API bool AddTaskAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                        Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

namespace internal {

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
    uint32_t timer = kNone;  // that of its deadline
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
