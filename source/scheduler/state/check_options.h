// What may be in SchedulerOptions.
#pragma once

#include "weft/options.h"

namespace weft::internal {

/// The smallest structBytes that there ever was.
inline constexpr uint32_t kLeastOptionBytes = sizeof(SchedulerOptions);

/// The number of workers that the options ask for.
uint32_t EffectiveWorkers(const SchedulerOptions &options) noexcept;

/// Numbers that are chosen by the number of workers.
void SetDefaults(SchedulerOptions &options) noexcept;

/// Ok, or BadOption after a report that names the option.
Status CheckOptions(const SchedulerOptions &options, uint32_t leastWorkers) noexcept;

}  // namespace weft::internal
