// Measures how late sleeps and waits with a deadline end.
#pragma once

#include "bodies.h"

#include <chrono>
#include <utility>

namespace bench {

/// Returns how late a hundred sleeps of one millisecond end, in nanoseconds. `sleep(duration)`
/// sleeps.
template <class Sleep>
Quantiles SleepLate(Sleep sleep) {
    constexpr std::chrono::milliseconds kDuration(1);
    std::vector<double> late;
    for (uint32_t i = 0; i < 100; ++i) {
        const Clock::time_point end = Clock::now() + kDuration;
        sleep(kDuration);
        late.push_back(Since(end));
    }
    return QuantilesOf(std::move(late));
}

inline constexpr uint32_t kTimedWaits = 200;

/// Returns 0 to less than a millisecond, in nanoseconds. The value differs from call to call.
inline double PartOfMillisecond(size_t time) {
    return static_cast<double>(Mix(time + 1) % 1000) * 1e3;
}

/// Returns how late `wait(deadline)` ends, in nanoseconds, with deadlines one millisecond ahead.
/// The caller works for a part of each millisecond before it waits. Otherwise a worker that begins
/// a task of one millisecond then would always end the task just in time.
template <class Wait>
Quantiles TimedWaitsLate(Wait wait) {
    std::vector<double> late;
    for (uint32_t i = 0; i < kTimedWaits; ++i) {
        const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(1);
        Spin(PartOfMillisecond(i));
        wait(deadline);
        late.push_back(Since(deadline));
    }
    return QuantilesOf(std::move(late));
}

inline Quantiles InMicroseconds(Quantiles nanoseconds) {
    return {nanoseconds.p50 / 1e3, nanoseconds.p99 / 1e3};
}

}  // namespace bench
