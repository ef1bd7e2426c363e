// Raising a counter, and asking whether it has come down.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Raises a counter; false if that was refused and reported.
bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept;

inline bool RaiseCounter(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    if (WEFT_LIKELY(scheduler.counters.TryAdd(CounterAccess::Word(counter), n))) return true;
    return RaiseOrReport(scheduler, counter, n);
}

/// Whether `counter <= value`. acquire: then the caller sees everything that the counted tasks
/// wrote.
inline bool IsSatisfied(Counter &counter, uint32_t value) noexcept {
    const bool satisfied =
        CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Satisfies(value);
    if (satisfied) race::SawCount(counter);
    return satisfied;
}

}  // namespace weft::internal
