// Takes the newest or the oldest item out of one queue.
#pragma once

#include "scheduler/find/found.h"

#include <cstdint>

namespace weft::internal {

/// Takes the oldest ready fiber of one level of `owner`, or of all its levels of one priority.
Found ReadyFiberOf(Worker *worker, Worker *owner, Level level) noexcept;

Found ReadyFiber(Worker *worker, Worker *owner, Priority priority) noexcept;

/// Restricts which slices OldestTask takes: none of the batch `notOf`, and none with fewer than
/// `least` tasks.
struct WantedSlice {
    uint64_t notOf = 0;  // 0: all batches are allowed
    uint32_t least = 0;
};

/// Claims the oldest entry of a lane of `owner`. Finds nothing if that entry is a slice that
/// `wanted` excludes.
Found OldestTask(Worker *worker, Worker *owner, uint32_t lane, WantedSlice wanted = {}) noexcept;

/// Claims the newest task of one lane of the worker, or of its lanes of one priority. Large tasks
/// go first.
Found NewestOf(Worker *worker, uint32_t lane) noexcept;
Found NewestTask(Worker *worker, Priority priority) noexcept;

/// Claims the oldest task of a late lane. If that task belongs to the same batch as the newest
/// entry of the worker's own lane, claims the newest task of its own lane instead, so that the
/// worker runs the batch in its order.
Found LateTask(Worker *worker, Worker *owner, uint32_t lane) noexcept;

/// Claims the newest entry of one of the worker's own lanes, if it belongs to `counter` and its
/// class is not larger than `most`. For a waiter that runs tasks of its counter inline.
bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept;

}  // namespace weft::internal
