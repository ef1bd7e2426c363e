// Attached threads: threads of the host that run tasks while they wait.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Makes the calling thread, which is inside the gate, a worker. `toStop`: for Stop, which must
/// continue without memory.
Status Attach(Scheduler &scheduler, bool toStop = false) noexcept;

/// Runs what is pinned to the calling thread or lies in its deques. Then it is no worker any more.
void Detach(Worker &worker) noexcept;

/// The function of an attached thread's reserve stack.
FiberContext *ReserveMain(void *fiber) noexcept;

}  // namespace weft::internal
