// Blocks of memory that are acquired up front, for heaps and arenas that live in them.
//
//     weft::BlockPool pool(options, 64);                      // 64 blocks of 2 MiB
//     weft::TaggedHeap heap(scheduler, options, pool, 32);    // frame/tagged_heap.h
//
//     weft::BlockPool scratch(options, 256, 64 << 10);        // 256 blocks of 64 KiB
//     weft::ScratchArena arena(scratch);                      // frame/scratch_arena.h, in a task
#pragma once

#include "weft/export.h"
#include "weft/options.h"

#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct BlockPoolState;
struct Blocks;
}  // namespace internal

/// Equal blocks in one piece of memory. Several heaps and arenas may share a pool. Nothing is
/// allocated after construction.
///
/// A block, or up to 64 that follow each other, is taken by one compare-and-exchange of a word that
/// says which of 64 are in use, and given back by one read-modify-write. Whoever finds none left
/// while another thread is about to give one back that it did not need, waits for that.
class WEFT_API BlockPool {
public:
    static constexpr size_t kDefaultBlockBytes = size_t{2} << 20;
    static constexpr uint32_t kMaxBlocks = 1 << 20;
    static constexpr uint32_t kMaxInARow = 64;  ///< the largest allocation takes so many blocks

    /// Acquires `blocks` (1 to 1,048,576) of `blockBytes` (a power of two, 4 KiB to 1 GiB) by the
    /// options' memory hooks, in one call that is aligned to a block. `options`: those of the
    /// scheduler; its `memory`, `onReport` and `user` are used. What is out of range, or half a
    /// pair of hooks, is reported (BadOption), and so is want of memory (OutOfMemory): then it has
    /// no blocks.
    BlockPool(const SchedulerOptions &options, uint32_t blocks,
              size_t blockBytes = kDefaultBlockBytes) noexcept;
    /// Reports blocks that are still in use (MemoryLeaked). One thread, when nobody uses the pool.
    ~BlockPool();
    BlockPool(const BlockPool &) = delete;
    BlockPool &operator=(const BlockPool &) = delete;

    /// How many there are; 0 if the constructor has reported something. Any thread.
    uint32_t BlockCount() const noexcept;
    size_t BlockBytes() const noexcept;
    /// How many somebody has now. Any thread; what others take and give back meanwhile may count or
    /// not.
    uint32_t BlocksInUse() const noexcept;

private:
    friend struct internal::Blocks;
    internal::BlockPoolState *m_state;
};

}  // namespace weft
