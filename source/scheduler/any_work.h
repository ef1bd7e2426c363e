// Whether there is anything to do, without taking it.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Last look of a worker that has announced that it will sleep: everything that could hold work for
/// it.
bool AnyWork(const Worker *worker, Ability ability) noexcept;

/// Any small task in any lane; any Large one. seq_cst. For reports, and where a notice is hidden.
bool AnyTask(const Scheduler &scheduler) noexcept;
bool AnyLargeTask(const Scheduler &scheduler) noexcept;

/// In the worker's own lanes: any task of the level. seq_cst.
inline bool HasTaskOf(const Worker &worker, Level level) noexcept {
    return worker.lanes[LaneOf(level, StackClass::Small)].Size() != 0 ||
           worker.lanes[LaneOf(level, StackClass::Large)].Size() != 0;
}

/// In the worker's own lanes.
inline bool HasLargeTask(const Worker &worker) noexcept {
    const uint32_t levels = worker.scheduler->Levels();
    for (uint32_t level = 0; level < levels; ++level) {
        if (worker.lanes[LaneOf(LevelAt(level), StackClass::Large)].Size() != 0) return true;
    }
    return false;
}

}  // namespace weft::internal
