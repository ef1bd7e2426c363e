// WaitIdle: waits until nothing is pending.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// WaitIdle of an external thread. Call it from inside the gate.
void WaitIdleExternal(EntryGate::Visit &visit, Scheduler &scheduler) noexcept;

/// WaitIdle of a task or an attached thread.
void WaitIdleHere(Worker *worker) noexcept;

}  // namespace weft::internal
