// Whether there is anything to do, without taking it.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Last look of a worker that has announced that it will sleep: everything that could hold work for it.
bool AnyWork(const Worker *worker, Ability ability) noexcept;

/// Any small task in any lane; any Large one. seq_cst. For reports, and where a notice is hidden.
bool AnyTask(const Scheduler &scheduler) noexcept;
bool AnyLargeTask(const Scheduler &scheduler) noexcept;

/// In the worker's own lanes.
inline bool HasLargeTask(const Worker &worker) noexcept {
    for (uint32_t priority = 0; priority < kPriorities; ++priority) {
        if (worker.lanes[LaneOf(static_cast<Priority>(priority), StackClass::Large)].Size() != 0) return true;
    }
    return false;
}

}  // namespace weft::internal
