// The source of the library's own memory. In the steady state weft allocates nothing.
#pragma once

#include "platform/race_finder.h"
#include "weft/hooks.h"

#include <cstddef>
#include <new>
#include <utility>

namespace weft::internal {

/// Call the host's functions for stacks; see memory_hook.h. AllocateWith and ReleaseWith, for all
/// other memory, are in weft/hooks.h.
void *CallReserveStacks(const MemoryHooks &hooks, size_t bytes) noexcept;
void CallReleaseStacks(const MemoryHooks &hooks, void *memory, size_t bytes) noexcept;

/// Allocates with the host's functions, or with the aligned operator new. Copies are cheap. The
/// hooks must outlive all memory that was allocated.
class Memory {
public:
    Memory() = default;
    explicit Memory(const MemoryHooks &hooks) noexcept
        : m_hooks(hooks.allocate != nullptr ? &hooks : nullptr) {}

    /// Returns zeroed memory with that alignment (a power of two, at least 16), or null.
    void *AllocateZeroed(size_t bytes, size_t alignment) const noexcept;
    /// `bytes` and `alignment`: as in the allocation.
    void Free(void *memory, size_t bytes, size_t alignment) const noexcept;

    /// Makes a default-constructed T at the beginning of `bytes` bytes. Returns null if there is no
    /// memory.
    template <class T>
    T *NewWithin(size_t bytes, size_t alignment) const noexcept {
        void *memory = AllocateZeroed(bytes, alignment);
        const race::Unwatched unwatched;  // compilers replace a constructor by memset
        return memory != nullptr ? new (memory) T() : nullptr;
    }
    /// Makes `count` default-constructed objects in one allocation. Returns null if there is no
    /// memory.
    template <class T>
    T *NewArray(size_t count) const noexcept {
        void *memory = AllocateZeroed(sizeof(T) * count, AlignmentOf<T>());
        if (memory == nullptr) return nullptr;
        const race::Unwatched unwatched;
        T *first = static_cast<T *>(memory);
        for (size_t i = 0; i < count; ++i) new (first + i) T();
        return first;
    }
    template <class T>
    void DeleteArray(T *first, size_t count) const noexcept {
        if (first == nullptr) return;
        for (size_t i = 0; i < count; ++i) first[i].~T();
        Free(first, sizeof(T) * count, AlignmentOf<T>());
    }

private:
    template <class T>
    static constexpr size_t AlignmentOf() noexcept {
        return alignof(T) > 16 ? alignof(T) : 16;
    }
    const MemoryHooks *m_hooks = nullptr;
};

}  // namespace weft::internal
