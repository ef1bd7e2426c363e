// Memory that is freed all at once: every allocation has a tag, such as "what the game stage of
// frame n makes".
//
//     weft::BlockPool pool(options, 64);                             // 64 blocks of 2 MiB
//     weft::TaggedHeap heap(scheduler, options, pool, 32);           // tags 0 to 31
//
//     Particle *particles = heap.NewArray<Particle>(tag, count);     // in any task
//     ...
//     heap.Free(tag);                                                // when the frame has been
//     displayed
#pragma once

#include "weft/export.h"
#include "weft/frame/block_pool.h"
#include "weft/options.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace weft {

class TaskScheduler;

namespace internal {
struct TaggedHeapState;
}

/// What has been allocated under a tag since it was last freed.
struct TagStatistics {
    uint64_t allocations = 0;
    uint64_t bytes = 0;   ///< as they were asked for
    uint32_t blocks = 0;  ///< that the tag owns
};

struct HeapStatistics {
    uint32_t blocks = 0;      ///< that tags of this heap own
    uint32_t peakBlocks = 0;  ///< the most there have been
    uint32_t tags = 0;        ///< that own blocks
};

/// A heap of blocks that are owned by tags. Each worker has a current piece of memory of each tag
/// that it allocates under, so that most allocations move a pointer and touch nothing that others
/// write. The workers take their pieces from a block that they share, by one compare-and-exchange,
/// and only a new block comes from the pool. Nothing is freed by itself, no destructor runs, and
/// Free gives back all blocks of a tag.
///
/// Memory. A worker's first piece under a tag has FirstPieceBytes, each further one twice as much
/// as the one before, and after a piece of half a block it takes whole blocks. So workers that
/// allocate at most their first piece under each of some tags take, of the pool, for each tag
///
///     workers * FirstPieceBytes(block) / block            blocks, rounded up
///
/// 32 workers and 3 tags take 3 blocks of 2 MiB. What threads that are no workers allocate comes to
/// that. A worker that allocates more, in small parts, has at most twice as much and its first
/// piece.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API TaggedHeap {
public:
    static constexpr uint32_t kMaxTags = 4096;

    /// What a worker takes first under a tag, in a pool with such blocks: 1 / 32 of a block, but at
    /// least 1 KiB and at most 64 KiB.
    static constexpr size_t FirstPieceBytes(size_t blockBytes) noexcept {
        constexpr size_t kLeast = size_t{1} << 10, kMax = size_t{64} << 10;
        const size_t share = blockBytes / 32;
        return share < kLeast ? kLeast : share > kMax ? kMax : share;
    }

    /// A heap of `tags` (1 to 4,096) tags in `pool`, which it must not outlive. `options`: those of
    /// the scheduler; its `memory` gives room for the bookkeeping, once. Threads of `scheduler`,
    /// attached ones too, have pieces of their own; other threads take each allocation from the
    /// tag's shared block. What is out of range is reported, and then every Allocate returns null.
    TaggedHeap(const TaskScheduler &scheduler, const SchedulerOptions &options, BlockPool &pool,
               uint32_t tags = 32) noexcept;
    /// Frees everything, and reports each tag that still owned blocks (MemoryLeaked). One thread,
    /// when nobody uses it.
    ~TaggedHeap();
    TaggedHeap(const TaggedHeap &) = delete;
    TaggedHeap &operator=(const TaggedHeap &) = delete;

    /// `bytes` that are not initialised, aligned to `alignment` (a power of two, at most a block),
    /// until the tag is freed. What is larger than a block takes as many as it needs in a row, up
    /// to 64. Null if the pool has none left (OutOfMemory, once until the heap frees or gets
    /// blocks), or after a report (BadOption). 0 bytes are as good as 1. Any thread; the fiber goes
    /// on at once.
    void *Allocate(uint32_t tag, size_t bytes,
                   size_t alignment = alignof(std::max_align_t)) noexcept;

    /// `count` objects, value-initialised, or null. Their destructors never run, so they must not
    /// need that.
    template <class T>
    T *NewArray(uint32_t tag, size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "Free runs no destructors");
        // reported
        if (count > SIZE_MAX / sizeof(T))
            return static_cast<T *>(Allocate(tag, SIZE_MAX, alignof(T)));
        T *first = static_cast<T *>(Allocate(tag, count * sizeof(T), alignof(T)));
        for (size_t i = 0; first != nullptr && i < count; ++i) new (first + i) T();
        return first;
    }

    /// Gives back all memory of the tag; it may be allocated under again at once. Any thread, when
    /// all who use that memory have finished: a wait for their counter says so. While somebody has
    /// it retained this is reported (MemoryInUse) and has no effect.
    void Free(uint32_t tag) noexcept;

    /// Says that the tag's memory is in use until Release, as by a picture that is being written
    /// while frames go on. Any thread. A Release too many is reported (BadOption).
    void Retain(uint32_t tag) noexcept;
    void Release(uint32_t tag) noexcept;

    /// Any thread; exact when nobody allocates under the tag meanwhile.
    TagStatistics StatisticsOf(uint32_t tag) const noexcept;
    HeapStatistics Statistics() const noexcept;

    uint32_t TagCount() const noexcept;

private:
    internal::TaggedHeapState *m_state;
};

}  // namespace weft
