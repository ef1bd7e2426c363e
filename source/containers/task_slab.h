// Where the tasks of a batch are copied to while slices of it wait in deques.
//
// Blocks of one size form a ring. Its owner fills the current block from the front; whoever has run
// or copied tasks out of a block gives them back, its owner with plain memory, others with one
// addition. A block is used again when everything that was put into it has come back, never under a
// slice that somebody still runs.
#pragma once

#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

class TaskSlab {
public:
    static constexpr size_t kBlockBytes = 16 << 10;

    TaskSlab() = default;
    TaskSlab(const TaskSlab &) = delete;
    TaskSlab &operator=(const TaskSlab &) = delete;
    ~TaskSlab() { Release(); }

    /// Begins with `blocks` blocks.
    bool Acquire(uint32_t blocks = 1, Memory memory = {}) noexcept {
        m_memory = memory;
        m_current = NewBlock();
        if (m_current == nullptr) return false;
        m_current->next = m_current;
        while (--blocks != 0) {
            Block *block = NewBlock();
            if (block == nullptr) return false;
            MakeCurrent(block, m_current);
        }
        return true;
    }
    void Release() noexcept {
        for (Block *block = m_current; block != nullptr;) {
            Block *next = block->next;
            m_memory.Free(block, kBlockBytes, kBlockBytes);
            block = next == m_current ? nullptr : next;
        }
        m_current = m_others = nullptr;
        m_othersCount = 0;
    }

    /// Owner. Room for `count` tasks in a row (at most kMaxRun), or null when there is no memory.
    Task *Take(uint32_t count) noexcept {
        if (m_current->IsDrained()) m_current->Reset();
        if (m_current->used + count > kTasksPerBlock && !Advance()) return nullptr;
        Task *first = m_current->Tasks() + m_current->used;
        m_current->used += count;
        return first;
    }

    /// `count` tasks that were in a row from `first` have been read for the last time.
    /// Called on the slab of the calling worker, whoever owns the block.
    void GiveBack(const Task *first, uint32_t count) noexcept {
        Block *block = Block::Of(first);
        if (block->owner == this) {
            block->returned += count;
            return;
        }
        if (block != m_others) FlushOthers();
        m_others = block;
        m_othersCount += count;
    }

    /// What others' blocks get back is passed on when another block's turn comes, or by this call:
    /// before the calling worker has nothing to do.
    void FlushOthers() noexcept {
        if (m_others == nullptr) return;
        // pairs with IsDrained: our reads are done
        m_others->returnedByOthers.fetch_add(m_othersCount, kRelease);
        m_others = nullptr;
        m_othersCount = 0;
    }

    static constexpr uint32_t kMaxRun = 255;

private:
    struct alignas(64) Block {
        TaskSlab *owner;
        Block *next;
        uint32_t used;
        uint32_t returned;
        alignas(64) env::Atomic<uint32_t> returnedByOthers;

        Task *Tasks() noexcept { return reinterpret_cast<Task *>(this + 1); }
        // acquire: pairs with GiveBack, so that writing new tasks comes after the others' reads of
        // the old ones.
        bool IsDrained() const noexcept {
            return returned + returnedByOthers.load(kAcquire) == used;
        }
        void Reset() noexcept {
            used = returned = 0;
            returnedByOthers.store(0, kRelaxed);  // nobody holds tasks of this block
        }
        static Block *Of(const Task *task) noexcept {
            return reinterpret_cast<Block *>(reinterpret_cast<uintptr_t>(task) &
                                             ~uintptr_t{kBlockBytes - 1});
        }
    };
    static constexpr uint32_t kTasksPerBlock = (kBlockBytes - sizeof(Block)) / sizeof(Task);

    Block *NewBlock() noexcept {
        Block *block = m_memory.NewWithin<Block>(kBlockBytes, kBlockBytes);
        if (block != nullptr) block->owner = this;
        return block;
    }

    // Goes on to a block that has drained, which moves to the place behind the current one; else to
    // a new one. Blocks that long tasks pin are skipped, some at a time, so that the ring grows by
    // an eighth of what is pinned at most, and the search stays short.
    bool Advance() noexcept {
        Block *previous = m_current;
        for (uint32_t skipped = 0; skipped < 8 && previous->next != m_current; ++skipped) {
            Block *block = previous->next;
            if (block->IsDrained()) {
                previous->next = block->next;
                block->Reset();
                return MakeCurrent(block, m_current);
            }
            previous = block;
        }
        Block *block = NewBlock();
        return block != nullptr && MakeCurrent(block, previous);
    }
    bool MakeCurrent(Block *block, Block *previous) noexcept {
        block->next = previous->next;
        previous->next = block;
        m_current = block;
        return true;
    }

    Block *m_current = nullptr;
    Block *m_others = nullptr;  // a block of another slab, and what it is to get back
    uint32_t m_othersCount = 0;
    Memory m_memory;
};

}  // namespace weft::internal
