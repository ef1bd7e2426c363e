// Checks SchedulerOptions, and fills in defaults that depend on the number of workers.
#pragma once

#include "weft/options.h"

namespace weft::internal {

/// The smallest value that SchedulerOptions::structBytes has had in any version of weft.
inline constexpr uint32_t kLeastOptionBytes = sizeof(SchedulerOptions);

/// Returns the number of workers that the options ask for.
uint32_t EffectiveWorkers(const SchedulerOptions &options) noexcept;

/// Sets the number of workers, and the options that are 0 and whose default depends on it.
void SetDefaults(SchedulerOptions &options) noexcept;

/// Returns Ok, or BadOption after a report that names the option. Also reports a doubtful default
/// of the number of workers. `leastWorkers`: the smallest valid number of workers.
Status CheckOptions(const SchedulerOptions &options, uint32_t leastWorkers) noexcept;

}  // namespace weft::internal
