// The end of a run, and the answers to WaitIdle. Both come when nothing is pending.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The main task has returned, or Stop was called: the run ends when nothing is pending. `worker`:
/// the caller's, or null. `withdrawsAt`: when StopFor withdraws tasks, or kNever.
void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt = Timers::kNever) noexcept;

/// Ends the run if nothing is pending, no external thread is inside a call or waits, and the end is
/// wanted. Returns true if the run is over.
bool EndRun(Scheduler &scheduler) noexcept;

/// Answers the calls of WaitIdle if nothing is pending but the tasks that made them. A worker calls
/// it after it has announced its sleep. Returns true if a call was answered.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// Calls AnswerIdleRequests before an attached thread returns to the host's code.
void AnswerBeforeHost(Worker &worker) noexcept;

}  // namespace weft::internal
