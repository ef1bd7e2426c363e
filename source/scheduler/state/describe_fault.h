// Reports of stack overflows that name the task (SchedulerOptions::reportStackOverflow).
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Installs a signal handler for the whole process that reports stack overflows. Returns false if
/// the system refuses it.
bool ReportStackOverflows() noexcept;

}  // namespace weft::internal
