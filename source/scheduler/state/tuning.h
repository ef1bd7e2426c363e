// How long things may take, and what they are worth.
#pragma once

#include "platform/env.h"
#include "weft/options.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// Durations in ticks of env::Ticks().
struct Tuning {
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

inline Tuning MakeTuning(const SchedulerOptions &options) noexcept {
    const double ticks = env::TicksPerMicrosecond();
    const auto microseconds = [ticks](double us) { return static_cast<uint64_t>(us * ticks); };
    Tuning tuning{};
    tuning.claimBudget = microseconds(3);
    tuning.idleSearch = microseconds(100);
    tuning.profitableSteal = microseconds(1);
    tuning.firstPenalty = std::max<uint64_t>(microseconds(0.2), 1);  // it is doubled
    tuning.maxStealPenalty = microseconds(20);
    tuning.firstLookInterval = std::max<uint64_t>(microseconds(0.1), 1);
    tuning.quiet = microseconds(2);
    tuning.aging = microseconds(500.0 * options.agingMilliseconds);
    tuning.stall = microseconds(1000.0 * options.stallMilliseconds);
    tuning.longPiece = microseconds(1000);
    tuning.maxPending = microseconds(100);
    tuning.longTask = microseconds(20);
    return tuning;
}

}  // namespace weft::internal
