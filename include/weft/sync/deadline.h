// Converts the standard's durations and time points to deadlines on weft::Clock.
//
// A wait sleeps by weft::Clock. If the deadline is on another clock, such as
// std::chrono::system_clock or a clock of yours, the wait sleeps for the time that is left on that
// clock, then reads that clock again.
//
// Infinity is a deadline that never comes, and -infinity one that has passed. A NaN is reported
// (BadOption) and counts as 0: the call does not wait. The functions of weft/time.h take whole
// numbers only, so the compiler refuses floating-point durations there.
#pragma once

#include "weft/report.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

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
/// time_point::max() if `time` is beyond the range of weft::Clock, and time_point() if it has
/// passed.
template <class OtherClock, class Duration>
Clock::time_point DeadlineAt(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    const auto now = OtherClock::now();
    const RoughSeconds left =
        RoughSeconds(time.time_since_epoch()) - RoughSeconds(now.time_since_epoch());
    if (!(left > std::chrono::seconds(-1))) return Clock::time_point();  // also for a NaN
    if (left >= RoughSeconds(Clock::duration::max() / 2)) return Clock::time_point::max();
    const auto exact = time - now;
    return exact <= exact.zero() ? Clock::time_point() : DeadlineAfter(exact);
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

/// The deadline of one wait. If it is a time of another clock, that clock decides whether it has
/// passed: it may run slowly, stand still, or be set back during the wait. Not thread-safe.
class Deadline {
public:
    template <class Rep, class Period>
    Deadline(const TaskScheduler &scheduler,
             const std::chrono::duration<Rep, Period> &duration) noexcept
        : m_point(DeadlineAfter(scheduler, duration)) {}
    /// `time` must outlive this.
    template <class AnyClock, class Duration>
    Deadline(const TaskScheduler &scheduler,
             const std::chrono::time_point<AnyClock, Duration> &time) noexcept
        : m_point(DeadlineAt(scheduler, time)) {
        if constexpr (!std::is_same_v<AnyClock, Clock>) {
            using Time = std::chrono::time_point<AnyClock, Duration>;
            m_time = &time;
            m_ask = [](const void *asked) { return DeadlineAt(*static_cast<const Time *>(asked)); };
        }
    }

    /// Returns the time until which the wait sleeps.
    Clock::time_point Point() const noexcept { return m_point; }
    /// Returns true if the deadline has passed. When Point() has passed, reads the other clock. If
    /// time is left on that clock, moves Point() to a later time and returns false.
    bool HasPassed() noexcept {
        const Clock::time_point now = Now();
        if (now < m_point) return false;
        const Clock::time_point later = m_ask != nullptr ? m_ask(m_time) : Clock::time_point();
        if (later == Clock::time_point()) return true;
        m_point = std::max(later, now + kLeastSleep);
        return false;
    }

private:
    // The shortest sleep between two reads of the other clock, for a clock that stands still.
    static constexpr std::chrono::microseconds kLeastSleep{100};

    Clock::time_point m_point;
    const void *m_time = nullptr;  // the time of another clock
    Clock::time_point (*m_ask)(const void *) = nullptr;
};

}  // namespace weft::internal
