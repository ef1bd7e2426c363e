// How late sleepers go on.
#pragma once

#include "rounds.h"

#include <chrono>
#include <utility>

namespace bench {

/// Of a hundred sleeps of one millisecond each by `sleep`; in nanoseconds.
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

}  // namespace bench
