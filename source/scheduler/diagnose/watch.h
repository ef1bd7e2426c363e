// What the layers below call of this folder, and what its files share.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Looks for a stall, and reports it. Call it when the calling worker has announced that it sleeps,
/// or has found nothing to do. Returns when it wants to be called again, in env::Now(); kNever if
/// nothing needs a look before a worker has done something. See stall.cpp.
uint64_t WatchForStall(Scheduler &scheduler) noexcept;

/// Reports that nothing can ever run again, and what the tasks wait for. For a run with an order,
/// which knows that at once.
void TellStall(Scheduler &scheduler) noexcept;

/// Call it when something was submitted that waits, without a worker that becomes idle later, or
/// when an attached thread has left. If all workers sleep, makes one of them look.
void LetOneLook(Scheduler &scheduler) noexcept;

/// Returns true if no worker and no attached thread runs anything: each of them sleeps, or finds
/// nothing. Then the caller sees all that they wrote before.
bool AllIdle(const Scheduler &scheduler) noexcept;

/// Returns true if a queue holds work. `ofAbsent`: also work that only a worker without a thread
/// may run. For reports.
bool AnyQueued(const Scheduler &scheduler, bool ofAbsent) noexcept;

/// Returns true if the fiber is in the pool. For reports.
bool IsFree(const Scheduler &scheduler, uint32_t fiber) noexcept;

/// Reports a late end if its timer was due (EndIsLate), and nothing was reported then. All workers
/// are idle.
void ReportIfLate(Scheduler &scheduler) noexcept;

/// Gives signal stacks to threads of weft. Begins to report stack overflows if the options ask for
/// it; then other threads have signal stacks, too. Returns false if there is no memory.
bool BeginFaultReports(Scheduler &scheduler) noexcept;
void EndFaultReports(const Scheduler &scheduler) noexcept;

/// Starts the watchdog if the options ask for it. Returns false if the system refuses the thread.
bool StartWatchdog(Scheduler &scheduler) noexcept;
/// Ends it, and waits for its end.
void EndWatchdog(Scheduler &scheduler) noexcept;

}  // namespace weft::internal
