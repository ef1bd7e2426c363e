// Found: the result of a search for work.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/groups.h"

namespace weft::internal {

struct Found {
    Fiber *fiber = nullptr;  ///< the ready fiber to switch to
    bool claimed = false;    ///< or: the worker's claim holds tasks to run
    explicit operator bool() const noexcept { return fiber != nullptr || claimed; }
};

/// Calls look(level) for each level of a priority that may hold something, until one call finds
/// something. Tasks that name groups go first, because fewer workers can run them.
template <class Look>
Found InLevels(const Worker *worker, Priority priority, Look look) noexcept {
    Found found;
    for (uint32_t set = worker->scheduler->Levels() / kPriorities - 1;
         WEFT_UNLIKELY(set != 0) && !found; --set)
        found = look(Level(priority, set));
    return found ? found : look(Level(priority));
}

}  // namespace weft::internal
