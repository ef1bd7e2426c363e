// What the users of weft/sync/ and of headers without a source file can get wrong, told as the
// scheduler tells of mistakes (ReportMisuse, which weft/report.h declares); and memory from where
// it has its own. Both are the scheduler's options', which its public interface does not show.
#pragma once

#include "platform/memory.h"
#include "weft/report.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

[[noreturn]] void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept;

Memory MemoryOf(const TaskScheduler &scheduler) noexcept;

}  // namespace weft::internal
