// Switches from one fiber to another.
//
// A fiber that other threads can see must not be running. So the fiber that leaves only writes its
// destination into its worker (Worker::pendingSwitch). The next context on this thread carries that
// out as its first act: in SwitchTo, when the switch returns there, or at the first line of a new
// fiber. A fiber becomes visible in no other way.
//
//     thread 1, fiber A                thread 1, fiber B                   thread 2
//     pendingSwitch = {A, ToWaiting}
//     jump -------------------------> A's context is saved
//                                     FinishSwitch: register A on its counter -> last decrement: A
//                                     becomes ready
//                                                                          a loop switches to A,
//                                                                          whose context is
//                                                                          complete
#pragma once

#include "scheduler/state/fiber.h"
#include "scheduler/state/worker.h"

namespace weft::internal {

/// Leaves `self`, the calling fiber, for `next`. Returns when a context has switched to `self`
/// again, perhaps on another worker: read self->worker again.
void SwitchTo(Fiber *self, Fiber *next, Destination destination) noexcept;

/// Carries out the pending switch of the context that was left. It must be the first act of every
/// context after every switch to it.
void FinishSwitch(Fiber *self) noexcept;

/// Puts the fiber on the list of the counter that it waits for, or makes it ready if the wait is
/// over. The fiber must be suspended. Exception: it runs, is pinned to the calling worker, and the
/// caller lets no other context continue it.
void RegisterWaiter(Worker *worker, Fiber *fiber) noexcept;

/// Leaves `self` for a ready fiber if FindReady finds one, else for a free loop fiber, or for the
/// thread stack if none is free.
void SuspendTo(Fiber *self, Destination destination) noexcept;

}  // namespace weft::internal
