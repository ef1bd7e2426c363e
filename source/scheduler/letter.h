// What is handed to a worker, or to all of them, through a list: a fiber that may go on, or tasks.
#pragma once

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
struct TaskBlock : Letter {
    static constexpr uint32_t kTasks = 30;

    TaskBlock() noexcept : Letter(Kind::Tasks) {}
    uint32_t place = 0;  // in the pool, or SegmentPool::kNone
    uint32_t count = 0;
    uint32_t taken = 0;
    Counter *counter = nullptr;
    TaskOptions options;
    Task tasks[kTasks];
};

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
    /// Takes out the letter that `link` points to.
    Letter *Remove(Letter **link) noexcept {
        Letter *letter = *link;
        *link = letter->next;
        if (letter->next == nullptr) end = link;
        return letter;
    }
};

}  // namespace weft::internal
