// Whether a call may make its caller wait. The public interface does not show whether a hook is
// what calls.
#pragma once

#include "weft/task_scheduler.h"

namespace weft::internal {

/// True for a task of this scheduler and a thread that is attached to it. False for other threads;
/// and for a hook of any kind, which is reported.
bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept;

}  // namespace weft::internal
