// Deadlines of weft::Clock from the standard's durations and times.
#pragma once

#include "weft/time.h"

#include <chrono>

namespace weft::internal {

/// So long from now; the end of time if that is later.
template <class Rep, class Period>
Clock::time_point DeadlineAfter(const std::chrono::duration<Rep, Period> &duration) noexcept {
    using Seconds = std::chrono::duration<double>;  // the sum of two durations may not have room in either's type
    const Clock::time_point now = Now();
    if (duration <= duration.zero()) return now;
    if (Seconds(duration) >= Seconds(Clock::time_point::max() - now)) return Clock::time_point::max();
    return now + std::chrono::ceil<Clock::duration>(duration);
}

/// The same time on weft::Clock, by what another clock says now.
template <class OtherClock, class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    return DeadlineAfter(time - OtherClock::now());
}

template <class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<Clock, Duration> &time) noexcept {
    return std::chrono::ceil<Clock::duration>(time);
}

}  // namespace weft::internal
