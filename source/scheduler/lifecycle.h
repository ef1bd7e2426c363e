// From options to a running scheduler, and back.
#pragma once

#include "weft/options.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

/// What TaskScheduler::Run does once its arguments are checked.
Status RunScheduler(TaskScheduler &facade, const Task &main, const TaskOptions &mainOptions) noexcept;

/// What TaskScheduler::Start does, and Stop, which returns when all is over.
Status StartScheduler(TaskScheduler &facade) noexcept;
void StopScheduler(TaskScheduler &facade) noexcept;

/// The smallest structBytes that there ever was.
inline constexpr uint32_t kLeastOptionBytes = sizeof(SchedulerOptions);

/// The number of workers that the options ask for.
uint32_t EffectiveWorkers(const SchedulerOptions &options) noexcept;

/// Ok, or BadOption after a report that names the option.
Status CheckOptions(const SchedulerOptions &options, uint32_t leastWorkers) noexcept;

}  // namespace weft::internal
