// How long things may take, and what they are worth.
#pragma once

#include "platform/env.h"
#include "weft/options.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// Durations in ticks of env::Ticks().
struct Times {
    uint64_t claimBudget;      // expected work that one claim may cover
    uint64_t idleSearch;       // before a Balanced worker sleeps
    uint64_t profitableSteal;  // a steal that brings less than this is not worth its disturbance
    uint64_t firstPenalty;
    uint64_t maxStealPenalty;
    uint64_t firstLookInterval;
    uint64_t aging;      // half of how long the oldest item of a queue may wait, see aging.h
    uint64_t stall;      // so long a lane without a fiber is told, see stall.h
    uint64_t longPiece;  // so long a piece of work gets a look at the clock of its own
    // so long decrements may be pending while tasks of their counter follow each other
    uint64_t maxPending;
    uint64_t longTask;  // decrements are not kept for one that takes longer
    // who has not submitted or finished anything for so long does not mind a look
    uint64_t quiet;
};

inline Times MeasureTimes(const SchedulerOptions &options) noexcept {
    const double ticks = env::TicksPerMicrosecond();
    const auto microseconds = [ticks](double us) { return static_cast<uint64_t>(us * ticks); };
    Times times{};
    times.claimBudget = microseconds(3);
    times.idleSearch = microseconds(100);
    times.profitableSteal = microseconds(1);
    times.firstPenalty = std::max<uint64_t>(microseconds(0.2), 1);  // it is doubled
    times.maxStealPenalty = microseconds(20);
    times.firstLookInterval = std::max<uint64_t>(microseconds(0.1), 1);
    times.quiet = microseconds(2);
    times.aging = microseconds(500.0 * options.agingMilliseconds);
    times.stall = microseconds(1000.0 * options.stallMilliseconds);
    times.longPiece = microseconds(1000);
    times.maxPending = microseconds(100);
    times.longTask = microseconds(20);
    return times;
}

}  // namespace weft::internal
