// Converts the standard's durations and time points to deadlines on weft::Clock.
#pragma once

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

}  // namespace weft::internal
