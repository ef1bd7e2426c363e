// A wait for something that can only be asked: a GPU fence, a device, a library without callbacks.
//
//     #include <weft/poll.h>
//
//     using namespace std::chrono_literals;
//     weft::PollUntil(*scheduler, [&] { return device.IsFinished(fence); }, 200us);
//
// If the other side can call a function when it is done, use a counter or an Event instead: they
// cost nothing while the task waits.
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <chrono>

namespace weft {

/// The shortest time between two asks of PollUntil. Shorter intervals count as this one.
inline constexpr std::chrono::microseconds kLeastPollInterval{20};

namespace internal {

/// Returns false, after a report, in a hook, where a wait is not possible.
WEFT_API bool MayWaitHere(const TaskScheduler &scheduler, const char *call) noexcept;

// Also takes zero, negative and NaN, and intervals beyond the range of the clock.
template <class Rep, class Period>
Clock::duration PollInterval(const std::chrono::duration<Rep, Period> &interval) noexcept {
    // Written so that NaN, for which each comparison is false, gives the shortest interval.
    if (!(RoughSeconds(interval) > RoughSeconds(kLeastPollInterval))) return kLeastPollInterval;
    if (RoughSeconds(interval) >= RoughSeconds(Clock::duration::max())) {
        return Clock::duration::max();
    }
    return std::chrono::ceil<Clock::duration>(interval);
}

}  // namespace internal

/// Blocks the calling fiber until `isTrue()` returns true. Returns false if `deadline` passes
/// first.
///
/// Asks at once, then each time `interval` after the end of the previous ask, and a last time at
/// the deadline. Between two asks the fiber sleeps as in SleepUntil, and its worker runs other
/// tasks; nothing spins. `isTrue` is called by the waiting task itself, so it may use everything
/// that a task may use, but it may be called on different workers. An exception that leaves it
/// leaves PollUntil.
///
/// `interval`: any std::chrono::duration. Zero, a negative value, NaN, and all values below
/// kLeastPollInterval count as kLeastPollInterval. An interval beyond the deadline gives only the
/// last ask. With a deadline in the past, it asks once.
///
/// The call returns at most `interval`, plus the lateness of timed waits (weft/time.h: the longest
/// single task plus 100 microseconds), plus the time of one ask after the condition has become
/// true. Then the task continues by its priority. The condition must stay true until it is asked.
///
/// Each ask of a waiting task costs a timer and a switch of fibers. So a wait that takes long
/// should have a long interval. In a hook it reports InHook and returns false without an ask.
/// Thread-safe. An external thread sleeps in the operating system, whether or not the scheduler
/// runs.
template <class Predicate, class Rep, class Period>
bool PollUntil(TaskScheduler &scheduler, Predicate &&isTrue,
               const std::chrono::duration<Rep, Period> &interval,
               Clock::time_point deadline = Clock::time_point::max()) {
    if (!internal::MayWaitHere(scheduler, "PollUntil")) return false;
    const Clock::duration gap = internal::PollInterval(interval);
    for (;;) {
        if (isTrue()) return true;
        const Clock::time_point now = Now();
        if (now >= deadline) return false;
        SleepUntil(scheduler, deadline - now > gap ? now + gap : deadline);
    }
}

}  // namespace weft
