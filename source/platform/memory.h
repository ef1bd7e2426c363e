// Where the library's own memory comes from. Nothing is allocated in the steady state.
#pragma once

#include "platform/race_finder.h"
#include "weft/hooks.h"

#include <cstddef>
#include <new>
#include <utility>

namespace weft::internal {

/// The host's functions for stacks; see memory_hook.h. (Those for the rest: weft/hooks.h.)
void *CallReserveStacks(const MemoryHooks &hooks, size_t bytes) noexcept;
void CallReleaseStacks(const MemoryHooks &hooks, void *memory, size_t bytes) noexcept;

/// The host's functions, or the aligned operator new. Copied freely; the hooks must live as long as
/// what was allocated.
class Memory {
public:
    Memory() = default;
    explicit Memory(const MemoryHooks &hooks) noexcept
        : m_hooks(hooks.allocate != nullptr ? &hooks : nullptr) {}

    /// Zeroed memory, aligned to `alignment` (a power of two, at least 16), or null.
    void *AllocateZeroed(size_t bytes, size_t alignment) const noexcept;
    /// With the same figures.
    void Free(void *memory, size_t bytes, size_t alignment) const noexcept;

    /// A default-constructed object at the beginning of so much memory; null when there is none.
    template <class T>
    T *NewWithin(size_t bytes, size_t alignment) const noexcept {
        void *memory = AllocateZeroed(bytes, alignment);
        const race::Unwatched unwatched;  // compilers make a memset of a constructor
        return memory != nullptr ? new (memory) T() : nullptr;
    }
    /// `count` default-constructed objects in one allocation; null when there is no memory.
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
