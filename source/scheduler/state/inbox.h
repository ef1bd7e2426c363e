// The items in the inbox of a worker and in the injector of the scheduler: a ready fiber, or a
// block of tasks.
#pragma once

#include "platform/env.h"
#include "scheduler/state/level.h"
#include "scheduler/state/task_entry.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// An element of such a list. Base of Fiber and TaskBlock.
struct InboxItem {
    enum class Kind : uint8_t { Fiber, Tasks };
    explicit InboxItem(Kind itemKind) noexcept : kind(itemKind) {}
    InboxItem *next = nullptr;
    Kind kind;
};

/// Whether StopFor may withdraw a task that waits for a counter. The state lies in its block.
///
/// Waiting: the task has a wait record. Held: a thread looks at the block. Withdrawn: another block
/// has taken the task's place, and this one stays until the record is gone. None: everything else.
/// The thread that takes the record writes None. If it finds Held, the holder submits the task.
struct Deferral {
    enum Value : uint8_t { None, Waiting, Held, Withdrawn };
};

/// Tasks that an external thread has submitted, or that are pinned to a worker, or that are
/// deferred. The tasks lie right behind this object.
struct TaskBlock : InboxItem {
    TaskBlock() noexcept : InboxItem(Kind::Tasks) {}
    Task *Tasks() noexcept { return reinterpret_cast<Task *>(this + 1); }

    env::Atomic<Deferral::Value> deferral{Deferral::None};
    uint32_t index = 0;            // index in its pool
    uint32_t worker = kAnyWorker;  // the only worker that may run them
    uint16_t count = 0;
    // Number of tasks that have been claimed.
    uint16_t taken = 0;
    TaskCounter counter;
    Label label;
};

/// A block and the room for its tasks. Most submissions have one task. Then the block and its task
/// fill one cache line.
template <uint32_t kTasks>
struct alignas(64) TaskBlockOf : TaskBlock {
    static_assert(alignof(Task) <= alignof(TaskBlock), "the tasks must directly follow the block");
    Task room[kTasks];
};
inline constexpr uint32_t kTasksPerBlock = 30;

/// The fibers or tasks of one priority that a worker has taken from its inbox, oldest first. Owner
/// only.
struct InboxQueue {
    InboxItem *first = nullptr;
    InboxItem **end = &first;

    InboxQueue() = default;
    InboxQueue(const InboxQueue &) = delete;
    InboxQueue &operator=(const InboxQueue &) = delete;

    void Append(InboxItem *item) noexcept {
        item->next = nullptr;
        *end = item;
        end = &item->next;
    }
    void Prepend(InboxItem *item) noexcept {
        item->next = first;
        if (first == nullptr) end = &item->next;
        first = item;
    }
    /// Takes out the item that `link` points to.
    InboxItem *Remove(InboxItem **link) noexcept {
        InboxItem *item = *link;
        *link = item->next;
        if (item->next == nullptr) end = link;
        return item;
    }
};

}  // namespace weft::internal
