// Tasks that begin when a counter gets there, or at a time, and hold no fiber until then.
//
//     weft::Counter loaded, shown;
//     scheduler->AddTasks(count, loads, &loaded);
//     weft::AddTaskAfter(*scheduler, &loaded, 0, show, &shown);    // when all is loaded
//     weft::AddTaskAt(*scheduler, weft::Now() + 1s, hide);         // in a second
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

namespace weft {

/// Submits the task once `after` was at or below `value`; it sees all that was counted. It counts
/// as submitted right away: the run does not end before it, and `counter`, if given, rises by one
/// now and falls when the task has finished. `after` must outlive that moment, as for a wait, and
/// is not touched any more after it. With `counter` the same as `after` the task is one of those
/// that `value` allows; 0 is refused (BadOption), as the task would wait for itself. Never waits,
/// unless there is no memory for a wait record: that is reported (OutOfMemory), and the task is
/// submitted when the wait is over, or not at all by a hook, which cannot wait. False if nothing
/// was submitted, after that or any other report. Any thread, while the scheduler runs.
WEFT_API bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                           Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

/// Submits the task at `time`, or now if that has passed; of equal times the first that was given
/// is submitted first, and where one worker runs all it also begins first, as a rule, not always.
/// The run does not end before it; so a time that never comes, Clock::time_point::max(), is refused
/// (BadOption). How late it is: as for waits with a deadline (weft/time.h). False after a report:
/// then nothing was submitted. Any thread, while the scheduler runs.
WEFT_API bool AddTaskAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                        Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

namespace internal {

/// For a task that ends right after the call, and that `counter` counts. Like AddTaskAfter and
/// AddTaskAt, but `counter` counts the new task in place of the calling one. So its value does not
/// change.
WEFT_API bool ContinueAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                            Counter *counter, const TaskOptions &options) noexcept;
WEFT_API bool ContinueAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                         Counter *counter, const TaskOptions &options) noexcept;

}  // namespace internal
}  // namespace weft
