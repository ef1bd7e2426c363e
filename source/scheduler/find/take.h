// Taking an item out of a queue: the newest or the oldest one.
#pragma once

#include "scheduler/find/found.h"

#include <cstdint>

namespace weft::internal {

/// The oldest ready fiber of a level, or of all levels of that priority.
Found ReadyFiberOf(Worker *worker, Worker *owner, Level level) noexcept;

Found ReadyFiber(Worker *worker, Worker *owner, Priority priority) noexcept;

/// Which slices to take: not those of the batch `notOf`, and none with fewer than `least` tasks.
struct WantedSlice {
    uint64_t notOf = 0;  // 0: of none
    uint32_t least = 0;
};

/// Claims the oldest task of a lane. Finds nothing if that task belongs to a slice that is not
/// wanted.
Found OldestTask(Worker *worker, Worker *owner, uint32_t lane, WantedSlice wanted = {}) noexcept;

/// Claims the newest task of a lane of the worker; or of its lanes of a priority, Large tasks
/// first.
Found NewestOf(Worker *worker, uint32_t lane) noexcept;
Found NewestTask(Worker *worker, Priority priority) noexcept;

/// The oldest task of a late lane, claimed. If it belongs to a batch that the worker has begun,
/// claims the next task of its own lane instead. So that lane keeps the batch's order.
Found LateTask(Worker *worker, Worker *owner, uint32_t lane) noexcept;

/// Claims the newest entry of the worker's own deques if it belongs to `counter` and its tasks need
/// no larger stack than `most`. For a task that waits for it.
bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept;

}  // namespace weft::internal
