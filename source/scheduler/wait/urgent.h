// Every wait is a scheduling point, even if the counter is satisfied already or the task runs the
// awaited tasks itself. Work that has arrived meanwhile, and that goes before the task, gets a turn
// first (FindUrgent).
#pragma once

#include "scheduler/state/urgency.h"

namespace weft::internal {

/// Switches to work that goes before the calling fiber, if there is any, and makes the fiber ready.
/// The fiber may be on another worker afterwards.
void YieldToUrgentNow(Fiber *self) noexcept;
inline void YieldToUrgent(Fiber *self) noexcept {
    if (IsUrgent(self->worker, self->level.ThePriority())) YieldToUrgentNow(self);
}

}  // namespace weft::internal
