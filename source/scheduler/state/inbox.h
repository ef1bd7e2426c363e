// What is handed to a worker, or to all of them, through a list: a fiber that may go on, or tasks.
#pragma once

#include "scheduler/state/level.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

struct InboxItem {
    enum class Kind : uint8_t { Fiber, Tasks };
    explicit InboxItem(Kind itemKind) noexcept : kind(itemKind) {}
    InboxItem *next = nullptr;
    Kind kind;
};

/// Tasks of one submission by a thread that is no worker, or of one that is pinned to a worker.
/// They lie right behind it.
struct TaskBlock : InboxItem {
    TaskBlock() noexcept : InboxItem(Kind::Tasks) {}
    Task *Tasks() noexcept { return reinterpret_cast<Task *>(this + 1); }

    uint32_t place = 0;            // in its pool
    uint32_t worker = kAnyWorker;  // the only one that may run them
    uint16_t count = 0;
    uint16_t taken = 0;
    Counter *counter = nullptr;
    Label label;
};

/// A block and room for its tasks. Most submissions are of one task: it makes one cache line with
/// its block.
template <uint32_t kTasks>
struct alignas(64) TaskBlockOf : TaskBlock {
    static_assert(alignof(Task) <= alignof(TaskBlock), "the tasks follow at once");
    Task room[kTasks];
};
inline constexpr uint32_t kTasksPerBlock = 30;

/// One worker's items in their order. Owner only.
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
