// What the users of weft/sync/ can get wrong, told as the scheduler tells of mistakes; and memory from where it has its own.
// Both are the scheduler's options', which its public interface does not show.
#pragma once

#include "platform/memory.h"
#include "weft/report.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

/// The call that is wrong then has no effect.
void ReportMisuse(const TaskScheduler &scheduler, ReportCode code, const char *cure, const char *what) noexcept;

[[noreturn]] void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept;

Memory MemoryOf(const TaskScheduler &scheduler) noexcept;

}  // namespace weft::internal
