// The data of a TaggedHeap.
//
// Terms.
//
//  tag           a number that users allocate under. Free frees all memory of a tag at once.
//  block         the unit in which the pool gives memory.
//  run           blocks in a row that a tag owns.
//  piece         a part of a block, or a run, in which one worker allocates by moving a pointer.
//  shared block  the block from which all threads take their pieces of a tag.
//  cache         (WorkerCache) what one worker has of one tag: its current piece, and its sums.
//  generation    a number of a tag that Free increments.
//
// One writer for each cache. Only its worker's thread writes to a cache, so most allocations need
// no atomic read-modify-write. Nothing in Allocate suspends the task, so the task stays on this
// thread until Allocate returns. Free may run on any thread and does not access the caches. It
// increments the tag's generation. A cache with an older generation counts as empty.
//
// A worker sees the new generation at its next allocation under the tag, because that comes after
// Free. The user must order the two, for example by a counter; otherwise the memory would be used
// after it was freed.
#pragma once

#include "frame/blocks.h"
#include "platform/compiler.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

// What one worker has of one tag.
struct WorkerCache {
    // written by one thread; read by statistics
    env::Atomic<uint64_t> generation{0}, allocations{0}, bytes{0};
    char *next = nullptr, *end = nullptr;
    size_t pieceBytes = 0;  // the size of the next piece
};

// The block from which all threads that allocate under a tag take pieces: its number plus one, and
// how many of its bytes are taken. 0: there is no shared block.
struct SharedBlock {
    static constexpr uint32_t kUsedBits = 40;
    uint64_t word;
    bool IsNone() const noexcept { return word == 0; }
    uint32_t Block() const noexcept { return static_cast<uint32_t>(word >> kUsedBits) - 1; }
    size_t Used() const noexcept { return word & ((uint64_t{1} << kUsedBits) - 1); }
    static uint64_t Of(uint32_t block, size_t used) noexcept {
        return uint64_t{block + 1} << kUsedBits | used;
    }
};

// What all threads share of one tag.
struct alignas(kLineBytes) HeapTag {
    env::Atomic<uint64_t> generation{1};  // 0 is the generation of unused caches
    // the newest run of blocks: number of its first block plus one; 0: none
    env::Atomic<uint32_t> newest{0};
    env::Atomic<uint32_t> blocks{0};  // in all runs
    env::Atomic<uint32_t> retained{0};
    env::Atomic<uint64_t> shared{0}, sharedAllocations{0}, sharedBytes{0};
};

// Blocks in a row that a tag owns. The entry has the number of the first block. It is written
// before the run is pushed, and read after it was taken.
struct HeapRun {
    uint32_t older;  // the run that was pushed before: number of its first block plus one
    uint32_t blocks;
};

// The heap: this object, then the tags, the rows of caches, and the runs, in one allocation.
struct TaggedHeapState {
    const TaskScheduler &scheduler;
    BlockPool &pool;
    BlockPoolState &blocks;
    uint32_t tagCount, cacheRows;  // cacheRows: one row of caches for each worker
    HeapTag *tags;
    char *rows;
    size_t rowBytes;
    HeapRun *runs;
    env::Atomic<uint32_t> owned{0}, peak{0};
    env::Atomic<uint32_t> saidFull{0};

    // The cache of worker `row` for the tag.
    WorkerCache &CacheOf(uint32_t row, uint32_t tag) const noexcept {
        void *const ofRow = rows + row * rowBytes;
        return static_cast<WorkerCache *>(ofRow)[tag];
    }
    size_t Bytes() const noexcept { return BytesFor(tagCount, cacheRows, blocks.blockCount); }
    static size_t RowBytes(uint32_t tagCount) noexcept {
        return Lines(tagCount * sizeof(WorkerCache));
    }
    static size_t OwnBytes() noexcept { return Lines(sizeof(TaggedHeapState)); }
    static size_t BytesFor(uint32_t tagCount, uint32_t cacheRows, uint32_t blockCount) noexcept {
        return OwnBytes() + tagCount * sizeof(HeapTag) + cacheRows * RowBytes(tagCount) +
               blockCount * sizeof(HeapRun);
    }
    // `bytes`, rounded up to whole cache lines.
    static size_t Lines(size_t bytes) noexcept {
        return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
};

}  // namespace weft::internal
