// What only one worker may run: fibers that are pinned to it, and tasks.
#pragma once

#include "scheduler/find/found.h"

namespace weft::internal {

/// Whether the calling loop runs on a Large fiber.
inline bool RunsOnLarge(const Worker *worker) noexcept {
    return worker->scheduler->pool.ClassOf(worker->current->index) == StackClass::Large;
}

/// Whether the calling loop can run a task of the class, here or on a free fiber.
inline bool CanRun(const Worker *worker, StackClass stack) noexcept {
    return stack == StackClass::Small || RunsOnLarge(worker) ||
           worker->scheduler->pool.AnyFree(StackClass::Large);
}

/// For the worker itself: what came to it alone, but for what lies in its inbox still.
inline bool HasPinned(const Worker *worker) noexcept { return worker->pinnedCount != 0; }

/// What came to the worker alone goes to its queues. Before all of them are looked at, not in
/// between: who finds nothing in them may sleep, and looks at the inbox alone then.
void SortInbox(Worker *worker) noexcept;

class Serving;

/// Returns the oldest pinned fiber of this priority. If `only` is not null, it skips fibers that
/// `only` does not need (own_tasks.h).
Found PinnedFiber(Worker *worker, Priority priority, Serving *only = nullptr) noexcept;

/// Claims the oldest pinned task of this priority that can run now. `anyStack`: the caller's stack
/// takes Large tasks too. `only`: as above.
Found PinnedTask(Worker *worker, Priority priority, bool anyStack,
                 Serving *only = nullptr) noexcept;

/// Returns a pinned fiber of this priority, or else claims a pinned task.
Found Pinned(Worker *worker, Priority priority) noexcept;

/// Somebody pumps. A wait with OwnTasks that began since then goes before: it ends first.
inline bool IsPumping(const Worker *worker) noexcept {
    return worker->pump != nullptr && (worker->own == nullptr || worker->own->pump != worker->pump);
}

/// Takes that fiber, if it is ready.
bool TakePinnedFiber(Worker *worker, const Fiber *fiber) noexcept;

/// Whether a fiber that is pinned to the worker is ready.
inline bool AnyPinnedFiber(const Worker &worker) noexcept {
    return worker.pinnedFibers[0].first != nullptr || worker.pinnedFibers[1].first != nullptr ||
           worker.pinnedFibers[2].first != nullptr;
}

/// Last look: whether a pinned task waits that could run if the worker had a small fiber.
bool AnyPinnedTask(const Worker *worker) noexcept;

}  // namespace weft::internal
