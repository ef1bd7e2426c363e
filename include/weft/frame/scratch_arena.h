// Memory for the life of a scope in a task, waits included.
//
//     weft::BlockPool scratch(options, 256, 64 << 10);        // once: 256 blocks of 64 KiB
//
//     void SortLights(weft::TaskScheduler *scheduler, void *arg) {
//         weft::ScratchArena arena(scratch);
//         weft::Task *tasks = arena.NewArray<weft::Task>(count);
//         ...
//         scheduler->AddTasksAndWait(count, tasks);
//     }                                                       // gone
#pragma once

#include "weft/export.h"
#include "weft/frame/block_pool.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace weft {

/// Hands out memory by moving a pointer, and gives all of it back in its destructor. It belongs to
/// the task and not to the thread: nothing happens to it where the task waits. Takes its first
/// block with the first allocation.
///
/// One task at a time, or any thread; not two at once.
class WEFT_API ScratchArena {
public:
    explicit ScratchArena(BlockPool &pool) noexcept : m_pool(&pool) {}
    ~ScratchArena() { Rewind({}); }
    ScratchArena(const ScratchArena &) = delete;
    ScratchArena &operator=(const ScratchArena &) = delete;

    /// `bytes` that are not initialised, aligned to `alignment` (a power of two, at most half a
    /// block). What does not fit into a block takes as many as it needs in a row, up to 64. Null
    /// when the pool has none left (OutOfMemory, reported), or after a report (BadOption). Never
    /// waits.
    void *Allocate(size_t bytes, size_t alignment = alignof(std::max_align_t)) noexcept;

    /// `count` objects, value-initialised, or null. Their destructors never run, so they must not
    /// need that.
    template <class T>
    T *NewArray(size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
        // reported
        if (count > SIZE_MAX / sizeof(T)) return static_cast<T *>(Allocate(SIZE_MAX, alignof(T)));
        T *first = static_cast<T *>(Allocate(count * sizeof(T), alignof(T)));
        for (size_t i = 0; first != nullptr && i < count; ++i) new (first + i) T();
        return first;
    }

    /// A place to go back to.
    struct Mark {
        uint32_t run = ~0u;
        size_t used = 0;
    };
    Mark Here() const noexcept { return {m_run, m_used}; }
    /// Gives back what was allocated since `mark` was taken. Marks that were taken since then are
    /// void. One that is void, as far as that can be seen, or of another arena, is reported
    /// (BadOption) and has no effect.
    void Rewind(Mark mark) noexcept;

private:
    bool Has(Mark mark) const noexcept;
    bool Grow(size_t bytes, size_t alignment) noexcept;

    BlockPool *m_pool;
    // of the newest run of blocks, whose first bytes say which one came before
    char *m_first = nullptr;
    size_t m_used = 0, m_bytes = 0;
    uint32_t m_run = ~0u;
};

}  // namespace weft
