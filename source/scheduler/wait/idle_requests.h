// Answers the calls of WaitIdle, which wait until nothing is pending.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// If nothing is pending but tasks in WaitIdle, ends all calls of WaitIdle. Returns true if there
/// were any.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept;

/// Call before the calling worker continues with the host's code on its thread's own stack. It may
/// have run the last task, and it will not come to Sleep, where workers answer requests.
void AnswerBeforeHost(Worker *worker) noexcept;

}  // namespace weft::internal
