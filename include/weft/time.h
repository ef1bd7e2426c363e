// Waiting with a deadline, and sleeping: the fiber waits, its worker goes on with other tasks.
//
//     #include <weft/time.h>
//
//     using namespace std::chrono_literals;
//     weft::Counter answer(1);                                     // lowered by whoever has the
//     answer if (!weft::WaitForCounterFor(*scheduler, &answer, 5ms)) UseTheOldOne();
//     weft::SleepUntil(*scheduler, nextTick);
//
// Deadlines are looked at by the workers between two pieces of work, and by a sleeping one that
// wakes up for the earliest; there is no thread of their own. A deadline is processed late by at
// most the longest single task plus 100 us; then the task begins, or the fiber continues, by its
// priority.
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

#include <chrono>

namespace weft {

/// What deadlines are points of; its greatest point, time_point::max(), never comes.
using Clock = std::chrono::steady_clock;

/// Now; in a simulated environment its virtual time. Any thread.
WEFT_API Clock::time_point Now() noexcept;

/// Like TaskScheduler::WaitForCounter, but returns false if `deadline` passes first. The counter is
/// checked once more at the deadline, so a past deadline makes this a single check.
///
/// The counter must live until this call has returned, even after it has reached zero. A task that
/// waits for zero may run tasks of the counter itself. If one of them is running at the deadline,
/// the call returns only after that task has ended. Also returns false after a report. Thread-safe.
/// A thread that is no worker blocks in the operating system.
WEFT_API bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter,
                                  Clock::time_point deadline, uint32_t value = 0) noexcept;

/// Like WaitForCounterUntil, with the deadline `duration` from now.
WEFT_API bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter,
                                Clock::duration duration, uint32_t value = 0) noexcept;

/// Like the two functions above, but until the wait ends the thread runs only what `meanwhile`
/// allows; see TaskScheduler::WaitForCounter. Except with AnyTask the task continues on this
/// thread: if the thread is in another task at the deadline, the call returns after that task has
/// ended or waits.
WEFT_API bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter,
                                  Clock::time_point deadline, Meanwhile meanwhile,
                                  uint32_t value = 0) noexcept;
WEFT_API bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter,
                                Clock::duration duration, Meanwhile meanwhile,
                                uint32_t value = 0) noexcept;

/// As TaskScheduler::WaitForAny, but returns `count` when `deadline` came before one of the
/// counters was at zero; then a last look is taken. Of 1 to 4,096 counters. `count` after a report,
/// too. Any thread; one that is no worker blocks in the operating system.
WEFT_API uint32_t WaitForAnyUntil(TaskScheduler &scheduler, uint32_t count,
                                  Counter *const *counters, Clock::time_point deadline) noexcept;

/// Returns at `deadline` or later. Any thread; one that is no worker sleeps in the operating
/// system, whether the scheduler runs or not.
WEFT_API void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept;

/// The same, `duration` from now.
WEFT_API void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept;

}  // namespace weft
