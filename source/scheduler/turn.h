// Every wait is a scheduling point, even if the counter is satisfied already or the task runs the
// awaited tasks itself. Work that has arrived meanwhile, and that goes before the task, gets a turn
// first (FindBefore).
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Switches to work that goes before the calling fiber, if there is any, and makes the fiber ready.
/// The fiber may be on another worker afterwards.
void GiveTurnNow(Fiber *self) noexcept;
inline void GiveTurn(Fiber *self) noexcept {
    if (IsCalled(self->worker, self->level.ThePriority())) GiveTurnNow(self);
}

/// The worker's fiber is about to leave, or runs no tasks of its counter any more.
inline void StopLending(Worker *worker) noexcept {
    // the owner's own; a hint
    if (WEFT_UNLIKELY(worker->lends.load(kRelaxed) != 0)) worker->lends.store(0, kRelaxed);
}

}  // namespace weft::internal
