// Waits with a deadline, and sleeps. The fiber waits, and its worker runs other tasks.
//
//     #include <weft/time.h>
//
//     using namespace std::chrono_literals;
//     weft::Counter answer(1);  // another thread decrements it when it has the answer
//     if (!weft::WaitForCounterFor(*scheduler, &answer, 5ms)) UseTheOldOne();
//     weft::SleepUntil(*scheduler, nextTick);
//
// There is no timer thread. Workers check the deadlines between two tasks, and a sleeping worker
// wakes up for the earliest deadline. A deadline is handled late by at most the longest single task
// plus 100 microseconds. Then the task is ready, and begins or continues by its priority.
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

#include <chrono>

namespace weft {

/// The clock of all deadlines. Its greatest point, Clock::time_point::max(), never comes. The waits
/// of weft/sync/ and Result also take times of other clocks: see "Arguments of waits" in
/// include/weft/README.md.
using Clock = std::chrono::steady_clock;

/// Returns the current time, or the virtual time in a simulated environment. Thread-safe.
WEFT_API Clock::time_point Now() noexcept;

/// Like TaskScheduler::WaitForCounter, but returns false if `deadline` passes first.
///
/// The counter is checked once more at the deadline. So with a deadline in the past, the call only
/// checks the counter. The counter must live until this call has returned, even after it has
/// reached zero. A task that waits for zero may run tasks of the counter itself. If one of them is
/// running at the deadline, the call returns only after that task has ended. Also returns false
/// after a report. Thread-safe. An external thread blocks in the operating system.
WEFT_API bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter,
                                  Clock::time_point deadline, uint32_t value = 0) noexcept;

/// Like WaitForCounterUntil, with the deadline `duration` from now.
WEFT_API bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter,
                                Clock::duration duration, uint32_t value = 0) noexcept;

/// Like the functions without `meanwhile`, but until the wait ends the thread runs only what
/// `meanwhile` allows; see TaskScheduler::WaitForCounter.
///
/// If `meanwhile` is not AnyTask, the task continues on this thread. If the thread runs another
/// task at the deadline, the call returns only after that task has ended or waits.
WEFT_API bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter,
                                  Clock::time_point deadline, Meanwhile meanwhile,
                                  uint32_t value = 0) noexcept;
/// Like WaitForCounterUntil with `meanwhile`, with the deadline `duration` from now.
WEFT_API bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter,
                                Clock::duration duration, Meanwhile meanwhile,
                                uint32_t value = 0) noexcept;

/// Like TaskScheduler::WaitForAny, but returns `count` if `deadline` passes before one of the
/// counters is zero.
///
/// The counters are checked once more at the deadline. `count` is 1 to 4,096. Also returns `count`
/// after a report. Thread-safe. An external thread blocks in the operating system.
WEFT_API uint32_t WaitForAnyUntil(TaskScheduler &scheduler, uint32_t count,
                                  Counter *const *counters, Clock::time_point deadline) noexcept;

/// Blocks the calling fiber until `deadline`. May return later, as the top of this file says.
/// Thread-safe. An external thread sleeps in the operating system, whether or not the scheduler
/// runs.
WEFT_API void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept;

/// Like SleepUntil, with the deadline `duration` from now.
WEFT_API void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept;

/// Ends the run as TaskScheduler::Stop does. After `duration` it withdraws the tasks that have not
/// begun because they wait for a time or a counter.
///
/// A task of AddTaskAt, AddTaskAfter or AddTasksAfter that has not begun by then counts as
/// withdrawn (see Withdraw in weft/deferred.h): it never runs, and its counter is lowered. A
/// PeriodicTask is cancelled. From then on such submissions are refused (RunEnding). The report
/// EndDelayed names what was withdrawn, and what StopFor still waits for:
/// - tasks that have begun, even if they sleep or wait, because their stacks hold objects;
/// - coroutines;
/// - tasks of Semaphore::AddTask, TicketQueue::AddTask and AddTaskWhen, because others may need the
///   permit, the turn or the result that they pass on;
/// - external and attached threads.
///
/// Returns true if all tasks ran. Returns false if some were withdrawn, or after one of the reports
/// of Stop. If `duration` is zero or negative, the tasks are withdrawn as soon as a worker can do
/// it. The same threads may call it as Stop.
WEFT_API bool StopFor(TaskScheduler &scheduler, Clock::duration duration) noexcept;

}  // namespace weft
