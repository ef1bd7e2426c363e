// What only one worker may run: fibers that are pinned to it, and tasks.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Whether the calling loop runs on a Large fiber.
inline bool RunsOnLarge(const Worker *worker) noexcept {
    return worker->scheduler->pool.ClassOf(worker->current->index) == StackClass::Large;
}

/// A hint for the worker itself.
inline bool HasMail(const Worker *worker) noexcept {
    return !worker->mailbox.LooksEmpty() || worker->pinnedFibers.first != nullptr ||
           worker->pinnedTasks.first != nullptr;
}

/// The oldest pinned fiber; the oldest pinned task that can run now (`anyStack`: the caller's stack takes Large tasks too);
/// the one or else the other.
Found PinnedFiber(Worker *worker) noexcept;
Found PinnedTask(Worker *worker, bool anyStack) noexcept;
Found Pinned(Worker *worker) noexcept;

/// Last look: whether a pinned task waits that could run if the worker had a small fiber.
bool AnyPinnedTask(const Worker *worker) noexcept;

/// While somebody pumps: what is pinned to the worker, and when there is no more the one who pumps. For a loop, or for a
/// thread stack, which takes fibers only.
Found FindPumped(Worker *worker) noexcept;

/// Runs what is pinned to the worker, at most `max`; returns how many.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept;

}  // namespace weft::internal
