// Every wait is a scheduling point: where a task waits, also for what is over already or what it runs itself, whatever has come
// meanwhile and goes before it gets a turn first (FindBefore).
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Leaves the calling fiber, which stays ready, for what goes before it. It may be on another worker afterwards.
void GiveTurnNow(Fiber *self) noexcept;
inline void GiveTurn(Fiber *self) noexcept {
    if (IsCalled(self->worker, self->priority)) GiveTurnNow(self);
}

/// The worker's fiber is about to leave, or runs no tasks of its counter any more.
inline void StopLending(Worker *worker) noexcept {
    if (WEFT_UNLIKELY(worker->lends.load(kRelaxed) != 0)) worker->lends.store(0, kRelaxed);  // the owner's own; a hint
}

}  // namespace weft::internal
