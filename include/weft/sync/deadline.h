// Deadlines of weft::Clock from the standard's durations and times.
#pragma once

#include "weft/time.h"

#include <chrono>

namespace weft::internal {

// where a sum, a difference or another unit may have no room
using RoughSeconds = std::chrono::duration<double>;

/// So long from now; the end of time if that is later.
template <class Rep, class Period>
Clock::time_point DeadlineAfter(const std::chrono::duration<Rep, Period> &duration) noexcept {
    const Clock::time_point now = Now();
    if (duration <= duration.zero()) return now;
    if (RoughSeconds(duration) >= RoughSeconds(Clock::time_point::max() - now))
        return Clock::time_point::max();
    return now + std::chrono::ceil<Clock::duration>(duration);
}

/// The same time on weft::Clock, by what another clock says now; its end or now if that is later or
/// earlier.
template <class OtherClock, class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    const auto now = OtherClock::now();
    const RoughSeconds left =
        RoughSeconds(time.time_since_epoch()) - RoughSeconds(now.time_since_epoch());
    if (left < std::chrono::seconds(-1)) return Now();
    if (left >= RoughSeconds(Clock::duration::max() / 2)) return Clock::time_point::max();
    return DeadlineAfter(time - now);
}

template <class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<Clock, Duration> &time) noexcept {
    const RoughSeconds since(time.time_since_epoch());
    if (since >= RoughSeconds(Clock::duration::max())) return Clock::time_point::max();
    if (since <= RoughSeconds::zero()) return Clock::time_point();
    return std::chrono::ceil<Clock::duration>(time);
}

}  // namespace weft::internal
