// WaitIdle: waiting until nothing is pending.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// WaitIdle of a thread that is no worker, from inside the gate, and of a task or an attached
/// thread.
void WaitIdleExternal(EntryGate::Visit &visit, Scheduler &scheduler) noexcept;

void WaitIdleHere(Worker *worker) noexcept;

}  // namespace weft::internal
