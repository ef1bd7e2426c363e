// Answering those that wait until nothing is pending (WaitIdle).
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// If nothing is pending but tasks that are in WaitIdle, ends these and all other calls of it; true
/// if there were any.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// The calling worker goes on on its thread's own stack, with the host's work: it may have run the
/// last task, and will not come by where workers fall asleep and answer.
void AnswerBeforeHost(Worker *worker) noexcept;

}  // namespace weft::internal
