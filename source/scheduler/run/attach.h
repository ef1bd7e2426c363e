// Threads of the host that become workers for a while.
//
// An attached thread's own stack is a fiber that is pinned to its worker. While it does not wait it
// runs the host's code; when it waits, its worker goes on with pool fibers, as any other; what a
// thread stack is to others (where a worker is while there is no fiber for its loop, and while it
// sleeps) is a reserve stack to it.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Makes the calling thread, which is no worker, a worker. From inside the gate. Ok, TooManyThreads
/// or OutOfMemory. `toStop`: by Stop, without workers; needs no memory and gives no OutOfMemory.
Status Attach(Scheduler &scheduler, bool toStop = false) noexcept;

/// Ends that; the calling thread, on its own stack. Runs first what is the thread's to run. The
/// scheduler may be gone when this returns.
void Detach(Worker *worker) noexcept;

}  // namespace weft::internal
