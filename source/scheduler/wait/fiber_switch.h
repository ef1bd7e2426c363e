// Leaving one fiber for another.
//
// A fiber that others can see must not be running. So who leaves writes only into its worker where
// the fiber is to go, and the next context on that thread, as its first act, carries it out: in
// SwitchTo, when the switch returns there, or at the first line of a new fiber. There is no other
// way by which a fiber becomes visible.
//
//     thread 1, fiber A                thread 1, fiber B                   thread 2
//     pendingSwitch = {A, ToWaiting}
//     jump -------------------------> A's context is saved
//                                     FinishSwitch: register A on its counter -> last decrement: A
//                                     becomes ready
//                                                                          a loop switches to A,
//                                                                          whole as it is
#pragma once

#include "scheduler/state/fiber.h"
#include "scheduler/state/worker.h"

namespace weft::internal {

/// Leaves `self`, on which the caller runs, for `next`. Returns when somebody has switched to
/// `self` again, perhaps on another worker: re-read self->worker.
void SwitchTo(Fiber *self, Fiber *next, Destination destination) noexcept;

/// Carries out what the context that was left asked for. First act of every context after every
/// switch to it.
void FinishSwitch(Fiber *self) noexcept;

/// Puts the fiber on the list of the counter that it waits for, or makes it ready if the wait is
/// over. The fiber must be suspended. Exception: it runs, is pinned to the calling worker, and the
/// caller lets nobody continue it.
void RegisterWaiter(Worker *worker, Fiber *fiber) noexcept;

/// Leaves `self` for a ready fiber if one is plainly next, or for a free loop fiber, or for the
/// thread stack if none is free.
void SuspendTo(Fiber *self, Destination destination) noexcept;

}  // namespace weft::internal
