// Whether a run has an order (state/order.h), and its time.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/order.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

inline bool IsOrdered(const Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.order != nullptr);
}
/// Returns the time. With an order it is virtual.
inline uint64_t TimeOf(Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) ? scheduler.order->ReadClock() : env::Now();
}
/// Returns true if the run has been given up. Tasks that are left never run again.
inline bool IsGivenUp(const Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) && scheduler.order->isGivenUp;
}

}  // namespace weft::internal
