// Taking work out of queues: those of other workers, and the oldest end of any.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Others' work of one priority. High and Low work only where a notice says that there is some.
Found OfOthers(Worker *worker, Priority priority, Ability ability) noexcept;

/// Others' work, the most urgent first.
Found FindElsewhere(Worker *worker, Ability ability) noexcept;

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

}  // namespace weft::internal
