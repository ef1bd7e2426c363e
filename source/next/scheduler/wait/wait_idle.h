// Waits until nothing is pending.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Waits until every other task has finished, apart from tasks that wait here, too.
void WaitIdleHere(Worker &worker) noexcept;

/// The same for an external thread, which is inside the gate.
void WaitIdleExternal(EntryGate::Visit &visit, Scheduler &scheduler) noexcept;

}  // namespace weft::internal
