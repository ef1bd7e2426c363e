// The answers to WaitIdle.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Answers the calls of WaitIdle if nothing is pending but the tasks that made them. A worker calls
/// it after it has announced its sleep. Returns true if a call was answered.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// The same before a worker goes on with the host's code.
void AnswerBeforeHost(Worker &worker) noexcept;

}  // namespace weft::internal
