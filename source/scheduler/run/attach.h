// Attaches threads of the host: an attached thread is a worker until it detaches.
//
// An attached thread's own stack is a fiber that is pinned to its worker. While it does not wait it
// runs the host's code. When it waits, its worker continues with pool fibers, as any other worker.
// A worker of the scheduler uses its thread's stack while it sleeps or has no fiber for its loop.
// An attached thread uses a reserve stack for that.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Makes the calling external thread a worker. Call it from inside the gate. Returns Ok,
/// TooManyThreads or OutOfMemory. `toStop`: the caller is Stop, without workers. Then it needs no
/// memory and does not return OutOfMemory.
Status Attach(Scheduler &scheduler, bool toStop = false) noexcept;

/// Ends that. Call it on the attached thread's own stack. Runs first all work that only this thread
/// may run. The scheduler may be gone when this returns.
void Detach(Worker *worker) noexcept;

}  // namespace weft::internal
