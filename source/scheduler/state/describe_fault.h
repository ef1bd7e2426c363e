// Stack overflows, told by name.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Installs the process-wide handler that SchedulerOptions::reportStackOverflow asks for; false if
/// the system refuses.
bool ReportStackOverflows() noexcept;

}  // namespace weft::internal
