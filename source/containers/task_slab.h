// Memory for the tasks of a batch while slices of this batch wait in deques.
//
// The slab of a worker is a ring of blocks of one size. The owner fills the current block from the
// front. A worker that has run tasks of a block, or copied them out, gives their places back: the
// owner with a plain addition, other workers with an atomic one. A block is used again when
// everything that was put into it has been given back. So it is never overwritten while a worker
// still runs a slice of it.
#pragma once

#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// The slab of one worker.
class TaskSlab {
public:
    static constexpr size_t kBlockBytes = 16 << 10;

    TaskSlab() = default;
    TaskSlab(const TaskSlab &) = delete;
    TaskSlab &operator=(const TaskSlab &) = delete;
    ~TaskSlab() { Release(); }

    /// Begins with `blocks` blocks. Returns false if there is no memory.
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

    /// Returns room for `count` tasks in a row (at most kMaxRun), or null if there is no memory.
    /// Only the owner may call this.
    Task *Take(uint32_t count) noexcept {
        if (m_current->IsDrained()) m_current->Reset();
        if (m_current->used + count > kTasksPerBlock && !Advance()) return nullptr;
        Task *first = m_current->Tasks() + m_current->used;
        m_current->used += count;
        return first;
    }

    /// Returns true if `count` tasks, in runs of `run`, can be taken without a new block. Only the
    /// owner may call this.
    bool HasRoom(uint32_t count, uint32_t run) const noexcept {
        const uint32_t whole = kTasksPerBlock - kTasksPerBlock % run;
        const uint32_t left = (kTasksPerBlock - m_current->used) / run * run;
        uint32_t room = m_current->IsDrained() ? whole : left;
        uint32_t skipped = 0;  // as in Advance
        for (const Block *block = m_current->next;
             room < count && block != m_current && skipped < kMaxSkipped; block = block->next)
            block->IsDrained() ? room += whole : ++skipped;
        return room >= count;
    }

    /// Gives back `count` tasks in a row from `first` on: they have been read for the last time.
    /// Call it on the slab of the calling worker, even if another worker owns the block.
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

    /// Places in a block of another worker are collected, and passed on when the block changes.
    /// This call passes on the rest: call it before the worker runs out of work.
    void FlushOthers() noexcept {
        if (m_others == nullptr) return;
        // release: pairs with IsDrained. Our reads of the tasks are done.
        m_others->returnedByOthers.fetch_add(m_othersCount, kRelease);
        m_others = nullptr;
        m_othersCount = 0;
    }

    static constexpr uint32_t kMaxRun = 255;
    /// A block holds at least so many tasks in runs of up to kMaxRun.
    static constexpr uint32_t LeastOfBlock() noexcept { return kTasksPerBlock - kMaxRun + 1; }

private:
    // A block of the ring: this header, then the tasks. It is aligned to its size.
    struct alignas(64) Block {
        TaskSlab *owner;
        Block *next;
        uint32_t used;
        uint32_t returned;
        alignas(64) env::Atomic<uint32_t> returnedByOthers;

        Task *Tasks() noexcept { return reinterpret_cast<Task *>(this + 1); }
        // acquire: pairs with FlushOthers. New tasks are written after the other workers have read
        // the old ones.
        bool IsDrained() const noexcept {
            return returned + returnedByOthers.load(kAcquire) == used;
        }
        void Reset() noexcept {
            used = returned = 0;
            returnedByOthers.store(0, kRelaxed);  // relaxed: no worker holds tasks of this block
        }
        // The block in which the task lies.
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

    static constexpr uint32_t kMaxSkipped = 8;

    // Makes a drained block the current one, moved to the place behind the former one. If it finds
    // none, makes a new block. A block that a long task keeps in use is skipped, up to eight of
    // them in one call. So the search stays short, and the ring grows by at most one block for each
    // eight that are kept in use.
    bool Advance() noexcept {
        Block *previous = m_current;
        for (uint32_t skipped = 0; skipped < kMaxSkipped && previous->next != m_current;
             ++skipped) {
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
    // Inserts the block behind `previous` and makes it the current one. Returns true.
    bool MakeCurrent(Block *block, Block *previous) noexcept {
        block->next = previous->next;
        previous->next = block;
        m_current = block;
        return true;
    }

    Block *m_current = nullptr;
    // a block of another worker, to which m_othersCount places are to be given back
    Block *m_others = nullptr;
    uint32_t m_othersCount = 0;
    Memory m_memory;
};

}  // namespace weft::internal
