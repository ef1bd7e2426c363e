// What is handed to a worker, or to all of them, through a list: a fiber that may go on, or tasks.
#pragma once

#include "scheduler/level.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

struct Letter {
    enum class Kind : uint8_t { Fiber, Tasks };
    explicit Letter(Kind letterKind) noexcept : kind(letterKind) {}
    Letter *next = nullptr;
    Kind kind;
};

/// Tasks of one submission by a thread that is no worker, or of one that is pinned to a worker.
/// They lie right behind it.
struct TaskBlock : Letter {
    TaskBlock() noexcept : Letter(Kind::Tasks) {}
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

/// One worker's letters in their order. Owner only.
struct LetterQueue {
    Letter *first = nullptr;
    Letter **end = &first;

    LetterQueue() = default;
    LetterQueue(const LetterQueue &) = delete;
    LetterQueue &operator=(const LetterQueue &) = delete;

    void Append(Letter *letter) noexcept {
        letter->next = nullptr;
        *end = letter;
        end = &letter->next;
    }
    void Prepend(Letter *letter) noexcept {
        letter->next = first;
        if (first == nullptr) end = &letter->next;
        first = letter;
    }
    /// Takes out the letter that `link` points to.
    Letter *Remove(Letter **link) noexcept {
        Letter *letter = *link;
        *link = letter->next;
        if (letter->next == nullptr) end = link;
        return letter;
    }
};

}  // namespace weft::internal
