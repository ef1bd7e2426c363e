// Waits until one of several counters is zero.
#pragma once

#include "scheduler/wait/external.h"

namespace weft::internal {

inline constexpr uint32_t kMaxOfAny = 4096;

/// Returns the index of the first counter that was zero, or `count` at the deadline or after a
/// report.
uint32_t WaitAny(const WaitingCaller &caller, uint32_t count, Counter *const *counters,
                 uint64_t deadline = Timers::kNever) noexcept;

}  // namespace weft::internal
