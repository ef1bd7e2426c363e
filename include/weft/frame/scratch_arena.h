// Memory that lives as long as a scope in a task, across the waits of the task.
//
//     weft::BlockPool scratch(options, 256, 64 << 10);   // once: 256 blocks of 64 KiB
//
//     void SortLights(weft::TaskScheduler *scheduler, void *arg) {
//         weft::ScratchArena arena(scratch);
//         weft::Task *tasks = arena.NewArray<weft::Task>(count);
//         ...
//         scheduler->AddTasksAndWait(count, tasks);
//     }                                                  // the memory is given back
#pragma once

#include "weft/export.h"
#include "weft/frame/block_pool.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace weft {

/// Allocates by moving a pointer, and gives all memory back in its destructor.
///
/// It belongs to the task and not to the thread: it stays as it is while the task waits. The first
/// allocation takes the first block. Any task or thread may use an arena, but only one at a time.
class WEFT_API ScratchArena {
public:
    /// Makes an empty arena. `pool` must outlive it.
    explicit ScratchArena(BlockPool &pool) noexcept : m_pool(&pool) {}
    ~ScratchArena() { Rewind({}); }
    ScratchArena(const ScratchArena &) = delete;
    ScratchArena &operator=(const ScratchArena &) = delete;

    /// Allocates `bytes` bytes that are not initialised. 0 bytes count as 1.
    ///
    /// `alignment` is a power of two, at most half a block. An allocation that does not fit into a
    /// block takes several blocks in a row, up to 64. Returns null, after a report: OutOfMemory
    /// (the pool has not enough free blocks in a row) or BadOption. Never suspends the fiber.
    void *Allocate(size_t bytes, size_t alignment = alignof(std::max_align_t)) noexcept;

    /// Allocates `count` value-initialised objects; returns null as Allocate does. Destructors do
    /// not run, so T must be trivially destructible.
    template <class T>
    T *NewArray(size_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
        // too large: Allocate reports it
        if (count > SIZE_MAX / sizeof(T)) return static_cast<T *>(Allocate(SIZE_MAX, alignof(T)));
        T *first = static_cast<T *>(Allocate(count * sizeof(T), alignof(T)));
        for (size_t i = 0; first != nullptr && i < count; ++i) new (first + i) T();
        return first;
    }

    /// A position in the arena.
    struct Mark {
        uint32_t run = ~0u;
        size_t used = 0;
    };
    /// Returns the current position, for Rewind.
    Mark GetMark() const noexcept { return {m_run, m_used}; }
    /// Gives back what was allocated since `mark` was taken. Marks that were taken later become
    /// invalid. Reports BadOption if the mark is of another arena, or is invalid and that can be
    /// detected; then it has no effect.
    void Rewind(Mark mark) noexcept;

private:
    bool Has(Mark mark) const noexcept;
    bool Grow(size_t bytes, size_t alignment) noexcept;

    BlockPool *m_pool;
    // The newest blocks in a row. Their first bytes say which blocks were taken before.
    char *m_first = nullptr;
    size_t m_used = 0, m_bytes = 0;
    uint32_t m_run = ~0u;
};

}  // namespace weft
