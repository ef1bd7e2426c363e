// Work that only one worker may run: fibers and tasks that are pinned to it. This file keeps the
// worker's queues of them and takes items from these queues.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Returns true if the calling loop runs on a Large fiber.
inline bool RunsOnLarge(const Worker *worker) noexcept {
    return worker->scheduler->pool.ClassOf(worker->current->index) == StackClass::Large;
}

/// Returns true if the calling loop can run a task of the class, on its own fiber or on a free one.
inline bool CanRun(const Worker *worker, StackClass stack) noexcept {
    return stack == StackClass::Small || RunsOnLarge(worker) ||
           worker->scheduler->pool.AnyFree(StackClass::Large);
}

/// For the owner: returns true if its queues hold pinned work. Does not count items that still lie
/// in the inbox.
inline bool HasPinned(const Worker *worker) noexcept { return worker->pinnedCount != 0; }

/// Moves all items from the inbox to the worker's queues. Call it before a search of these queues,
/// not during one. A worker that finds nothing may go to sleep, and its last check reads the inbox
/// but not all of these queues. So no item may move from the inbox to a queue that the search has
/// passed.
void SortInbox(Worker *worker) noexcept;

class Serving;

/// Takes the oldest pinned fiber of this priority. If `only` is not null, skips fibers that its
/// wait does not depend on (serving.h).
Found PinnedFiber(Worker *worker, Priority priority, Serving *only = nullptr) noexcept;

/// Claims the oldest pinned task of this priority that can run now. `anyStack`: the caller's own
/// stack has room for Large tasks. `only`: as above.
Found PinnedTask(Worker *worker, Priority priority, bool anyStack,
                 Serving *only = nullptr) noexcept;

/// Takes a pinned fiber of this priority, or else claims a pinned task.
Found Pinned(Worker *worker, Priority priority) noexcept;

/// Returns true if a fiber of this worker pumps (RunPinnedTasks). A wait with OwnTasks that began
/// after the pump takes precedence, because it ends first: then false.
inline bool IsPumping(const Worker *worker) noexcept {
    return worker->pump != nullptr && (worker->own == nullptr || worker->own->pump != worker->pump);
}

/// Takes that fiber out of the queues. Returns false if it is not ready yet.
bool TakePinnedFiber(Worker *worker, const Fiber *fiber) noexcept;

/// Returns true if the worker's queues hold a ready pinned fiber.
inline bool AnyPinnedFiber(const Worker &worker) noexcept {
    return worker.pinnedFibers[0].first != nullptr || worker.pinnedFibers[1].first != nullptr ||
           worker.pinnedFibers[2].first != nullptr;
}

/// For the last check before sleep: returns true if the worker holds a pinned task that it could
/// run if it had a small fiber.
bool AnyPinnedTask(const Worker *worker) noexcept;

}  // namespace weft::internal
