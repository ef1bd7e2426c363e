// What a search for work returns.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/groups.h"

namespace weft::internal {

struct Found {
    Fiber *fiber = nullptr;  ///< a ready fiber to switch to
    bool claimed = false;    ///< or: the worker's claim is filled
    explicit operator bool() const noexcept { return fiber != nullptr || claimed; }
};

/// Calls look(level) for the levels of a priority that may hold something, and returns the first
/// thing that is found. Tasks that name groups go first, as fewer workers can run them.
template <class Look>
Found InLevels(const Worker *worker, Priority priority, Look look) noexcept {
    Found found;
    for (uint32_t set = worker->scheduler->Levels() / kPriorities - 1;
         WEFT_UNLIKELY(set != 0) && !found; --set)
        found = look(Level(priority, set));
    return found ? found : look(Level(priority));
}

}  // namespace weft::internal
