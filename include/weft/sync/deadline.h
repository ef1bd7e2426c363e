// Converts the standard's durations and time points to deadlines on weft::Clock.
//
// Infinity is a deadline that never comes, and -infinity one that has passed. A NaN is reported
// (BadOption) and counts as 0: the call does not wait. The functions of weft/time.h take whole
// numbers only, so the compiler refuses floating-point durations there.
#pragma once

#include "weft/report.h"
#include "weft/time.h"

#include <chrono>

namespace weft::internal {

// For values that may overflow when they are added, subtracted or converted to another unit.
using RoughSeconds = std::chrono::duration<double>;

/// Returns the time point `duration` from now, or time_point::max() if that is later than max().
/// A negative duration gives now.
template <class Rep, class Period>
Clock::time_point DeadlineAfter(const std::chrono::duration<Rep, Period> &duration) noexcept {
    const Clock::time_point now = Now();
    if (duration <= duration.zero()) return now;
    if (RoughSeconds(duration) >= RoughSeconds(Clock::time_point::max() - now))
        return Clock::time_point::max();
    return now + std::chrono::ceil<Clock::duration>(duration);
}

/// Returns `duration`, or 0 after a report if it is a NaN.
template <class Rep, class Period>
std::chrono::duration<Rep, Period> NumberOf(
    const TaskScheduler &scheduler, const std::chrono::duration<Rep, Period> &duration) noexcept {
    if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
        // Compares the numbers: std::chrono makes `>=` of `<`, so it would be true for a NaN.
        if (!(duration.count() < 0 || duration.count() >= 0)) {
            ReportMisuse(scheduler, ReportCode::BadOption,
                         "Give a number. Infinity stands for a wait without an end.",
                         "the duration or deadline of a wait is not a number (NaN)");
            return duration.zero();
        }
    }
    return duration;
}

/// Converts a time point of another clock to weft::Clock, by what both clocks say now. Returns
/// time_point::max() if `time` is beyond the range of weft::Clock, and now if `time` has passed.
template <class OtherClock, class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    const auto now = OtherClock::now();
    const RoughSeconds left =
        RoughSeconds(time.time_since_epoch()) - RoughSeconds(now.time_since_epoch());
    if (left < std::chrono::seconds(-1)) return Now();
    if (left >= RoughSeconds(Clock::duration::max() / 2)) return Clock::time_point::max();
    return DeadlineAfter(time - now);
}

/// Converts the unit and rounds up. A time beyond the range of weft::Clock becomes
/// time_point::max(); a time before its epoch becomes the epoch.
template <class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<Clock, Duration> &time) noexcept {
    const RoughSeconds since(time.time_since_epoch());
    if (since >= RoughSeconds(Clock::duration::max())) return Clock::time_point::max();
    if (since <= RoughSeconds::zero()) return Clock::time_point();
    return std::chrono::ceil<Clock::duration>(time);
}

/// The same, but report a NaN through `scheduler`.
template <class Rep, class Period>
Clock::time_point DeadlineAfter(const TaskScheduler &scheduler,
                                const std::chrono::duration<Rep, Period> &duration) noexcept {
    return DeadlineAfter(NumberOf(scheduler, duration));
}
template <class AnyClock, class Duration>
Clock::time_point DeadlineAt(const TaskScheduler &scheduler,
                             const std::chrono::time_point<AnyClock, Duration> &time) noexcept {
    return DeadlineAt(
        std::chrono::time_point<AnyClock, Duration>(NumberOf(scheduler, time.time_since_epoch())));
}

}  // namespace weft::internal
