// The durations on which the scheduler's decisions depend.
#pragma once

#include "platform/env.h"
#include "weft/options.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// Durations in ticks of env::Ticks().
struct Tuning {
    uint64_t claimBudget;  // expected duration of the tasks in one claim
    uint64_t idleSearch;   // how long a Balanced worker searches before it sleeps
    // A steal that brings less work than this disturbs the victim more than it is worth.
    uint64_t profitableSteal;
    // After such a steal the worker steals nothing for this time. The time doubles with each
    // further one, up to the maximum.
    uint64_t firstPenalty;
    uint64_t maxStealPenalty;
    // The first interval between two looks at what other workers have.
    uint64_t firstLookInterval;
    uint64_t aging;  // half of how long the oldest item of a queue may wait, see find/aging.h
    uint64_t stall;  // a lane that lacks a fiber for this time is a stall, see find/stall.h
    // A worker that takes longer than this for 32 items reads the clock after each of them.
    uint64_t longPiece;
    // Decrements may be pending for this time while tasks of their counter follow each other.
    uint64_t maxPending;
    uint64_t longTask;  // decrements do not stay pending while a longer task runs
    // If the other workers have not submitted or finished anything for this time, a look does not
    // disturb them.
    uint64_t quiet;
};

inline Tuning MakeTuning(const SchedulerOptions &options) noexcept {
    const double ticks = env::TicksPerMicrosecond();
    const auto microseconds = [ticks](double us) { return static_cast<uint64_t>(us * ticks); };
    Tuning tuning{};
    tuning.claimBudget = microseconds(3);
    tuning.idleSearch = microseconds(100);
    tuning.profitableSteal = microseconds(1);
    tuning.firstPenalty = std::max<uint64_t>(microseconds(0.2), 1);  // not 0, because it is doubled
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
