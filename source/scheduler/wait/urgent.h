// Runs urgent work: work that must run before the current task continues (FindUrgent).
//
// Every wait is a scheduling point, even if the counter is satisfied already, or if the task runs
// the awaited tasks inline. Urgent work that has arrived meanwhile runs first.
#pragma once

#include "scheduler/state/urgency.h"

namespace weft::internal {

/// Switches to urgent work, if there is any, and makes the calling fiber ready. The fiber may be on
/// another worker afterwards.
void YieldToUrgentNow(Fiber *self) noexcept;
inline void YieldToUrgent(Fiber *self) noexcept {
    if (IsUrgent(self->worker, self->level.ThePriority())) YieldToUrgentNow(self);
}

}  // namespace weft::internal
