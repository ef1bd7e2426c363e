// A pool of memory blocks that is allocated once, at the start, for heaps and arenas.
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

/// Blocks of equal size in one piece of memory. Several heaps and arenas may share a pool. Only the
/// constructor allocates.
///
/// A bitmap has one 64-bit word for each 64 blocks. One compare-and-exchange takes a block, or up
/// to 64 blocks in a row that belong to the same word. One read-modify-write gives them back. If no
/// block is left while another thread is about to give back one that it did not need, the call
/// spins until that is decided.
class WEFT_API BlockPool {
public:
    static constexpr size_t kDefaultBlockBytes = size_t{2} << 20;
    static constexpr uint32_t kMaxBlocks = 1 << 20;
    static constexpr uint32_t kMaxContiguous = 64;  ///< most blocks that one allocation can take

    /// Allocates `blocks` blocks with the memory hooks, in one call, aligned to the block size.
    ///
    /// `options` must be the scheduler's; `memory`, `onReport` and `user` are used. `blocks` is 1
    /// to 1,048,576; `blockBytes` is a power of two, 4 KiB to 1 GiB. Reports BadOption (a value out
    /// of range, or one memory hook of a pair is missing) or OutOfMemory; then the pool has no
    /// blocks.
    BlockPool(const SchedulerOptions &options, uint32_t blocks,
              size_t blockBytes = kDefaultBlockBytes) noexcept;
    /// Frees the memory. Reports MemoryLeaked if blocks are still in use. No other thread may use
    /// the pool then.
    ~BlockPool();
    BlockPool(const BlockPool &) = delete;
    BlockPool &operator=(const BlockPool &) = delete;

    /// Return the number and the size of the blocks; 0 if the constructor has reported an error.
    /// Thread-safe.
    uint32_t BlockCount() const noexcept;
    size_t BlockBytes() const noexcept;
    /// Returns how many blocks are in use. Thread-safe; blocks that other threads take or give back
    /// during the call may count or not.
    uint32_t BlocksInUse() const noexcept;

private:
    friend struct internal::Blocks;
    internal::BlockPoolState *m_state;
};

}  // namespace weft
