// A heap whose memory is freed by tag, all at once. A tag stands for example for everything that
// the game stage of frame n allocates.
//
//     weft::BlockPool pool(options, 64);                          // 64 blocks of 2 MiB
//     weft::TaggedHeap heap(scheduler, options, pool, 32);        // tags 0 to 31
//
//     Particle *particles = heap.NewArray<Particle>(tag, count);  // in any task
//     ...
//     heap.Free(tag);                                             // after the frame was displayed
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

/// What has been allocated under a tag since the last Free.
struct TagStatistics {
    uint64_t allocations = 0;
    uint64_t bytes = 0;   ///< sum of the requested sizes
    uint32_t blocks = 0;  ///< blocks that the tag owns
};

/// What a heap uses of its pool.
struct HeapStatistics {
    uint32_t blocks = 0;      ///< blocks that the tags of this heap own
    uint32_t peakBlocks = 0;  ///< the largest value of `blocks` so far
    uint32_t tags = 0;        ///< tags that own blocks
};

/// A heap of blocks that are owned by tags. Free gives back all blocks of a tag.
///
/// Nothing is freed before that, and no destructor runs. Each worker has a current piece of memory
/// for each tag that it allocates under. So most allocations only move a pointer and touch no
/// memory that other threads write. The workers take their pieces from a block that they share,
/// with one compare-and-exchange. Only new blocks come from the pool.
///
/// Use of the pool. The first piece of a worker under a tag has FirstPieceBytes. Each further piece
/// is twice as large as the one before. After a piece of half a block, the worker takes whole
/// blocks. If no worker needs more than its first piece, a tag takes
///
///     workers * FirstPieceBytes(block) / block            blocks, rounded up
///
/// of the pool: 32 workers and 3 tags take 3 blocks of 2 MiB. Allocations by external threads come
/// on top. A worker that allocates more, in small parts, takes at most twice what it allocates plus
/// its first piece.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API TaggedHeap {
public:
    static constexpr uint32_t kMaxTags = 4096;

    /// Returns the size of a worker's first piece under a tag, in a pool with blocks of
    /// `blockBytes`: 1/32 of a block, at least 1 KiB and at most 64 KiB.
    static constexpr size_t FirstPieceBytes(size_t blockBytes) noexcept {
        constexpr size_t kLeast = size_t{1} << 10, kMax = size_t{64} << 10;
        const size_t share = blockBytes / 32;
        return share < kLeast ? kLeast : share > kMax ? kMax : share;
    }

    /// Makes a heap of `tags` tags, 1 to 4,096. `scheduler` and `pool` must outlive it.
    ///
    /// `options` must be the scheduler's; `maxAttached`, `onReport` and `user` are used. The
    /// bookkeeping is allocated here, once, with the memory hooks of the pool. Workers and attached
    /// threads have their own pieces. External threads take each allocation from the tag's shared
    /// block. Reports BadOption or OutOfMemory. Then, or if the pool has no blocks, every Allocate
    /// returns null.
    TaggedHeap(const TaskScheduler &scheduler, const SchedulerOptions &options, BlockPool &pool,
               uint32_t tags = 32) noexcept;
    /// Frees everything. Reports MemoryLeaked for each tag that still owned blocks. No other thread
    /// may use the heap then.
    ~TaggedHeap();
    TaggedHeap(const TaggedHeap &) = delete;
    TaggedHeap &operator=(const TaggedHeap &) = delete;

    /// Allocates `bytes` bytes that are not initialised, until the tag is freed. 0 bytes count as
    /// 1.
    ///
    /// `alignment` is a power of two, at most a block. An allocation that is larger than a block
    /// takes several blocks in a row, up to 64. Returns null if the pool has not enough free blocks
    /// in a row, and after a report (BadOption). A full pool is reported as OutOfMemory, once until
    /// the heap frees or gets blocks again. Thread-safe. Never suspends the fiber.
    void *Allocate(uint32_t tag, size_t bytes,
                   size_t alignment = alignof(std::max_align_t)) noexcept;

    /// Allocates `count` value-initialised objects; returns null as Allocate does. Destructors do
    /// not run, so T must be trivially destructible.
    template <class T>
    T *NewArray(uint32_t tag, size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "Free runs no destructors");
        // too large: Allocate reports it
        if (count > SIZE_MAX / sizeof(T))
            return static_cast<T *>(Allocate(tag, SIZE_MAX, alignof(T)));
        T *first = static_cast<T *>(Allocate(tag, count * sizeof(T), alignof(T)));
        for (size_t i = 0; first != nullptr && i < count; ++i) new (first + i) T();
        return first;
    }

    /// Gives back all memory of the tag. The tag may be used for allocations again at once.
    ///
    /// Call it after all tasks that use the memory have finished, for example after a wait for
    /// their counter. Reports MemoryInUse while the tag is retained, and then has no effect. A tag
    /// out of range is reported as BadOption. Thread-safe.
    void Free(uint32_t tag) noexcept;

    /// Retain marks the memory of the tag as in use until Release, for example while a screenshot
    /// is written and later frames go on. Calls may be nested. Release reports BadOption if the tag
    /// is not retained, and then has no effect. Thread-safe.
    void Retain(uint32_t tag) noexcept;
    void Release(uint32_t tag) noexcept;

    /// Return the figures of a tag or of the heap. Exact only while no thread allocates under the
    /// tag or frees it. Thread-safe.
    TagStatistics StatisticsOf(uint32_t tag) const noexcept;
    HeapStatistics Statistics() const noexcept;

    /// Returns the number of tags; 0 if the constructor has reported an error. Thread-safe.
    uint32_t TagCount() const noexcept;

private:
    internal::TaggedHeapState *m_state;
};

}  // namespace weft
