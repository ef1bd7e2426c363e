// Incrementing a counter, and testing its value.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Increments the counter by `n`. Returns false, after a report, if the counter refused that.
bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept;

// The same, with one attempt for the most frequent case first.
inline bool RaiseCounter(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    if (WEFT_LIKELY(scheduler.counters.TryAdd(CounterAccess::Word(counter), n))) return true;
    return RaiseOrReport(scheduler, counter, n);
}

/// Returns true if `counter <= value`. acquire: then the caller sees everything that the counted
/// tasks wrote.
inline bool IsSatisfied(Counter &counter, uint32_t value) noexcept {
    const bool satisfied =
        CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Satisfies(value);
    if (satisfied) race::SawCount(counter);
    return satisfied;
}

}  // namespace weft::internal
