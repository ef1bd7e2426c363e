// Where the library's own memory comes from. Nothing is allocated in the steady state.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace weft::internal {

/// Zeroed memory, aligned to `alignment` (a power of two, at least 16), or null.
void *AllocateZeroed(size_t bytes, size_t alignment) noexcept;
void FreeMemory(void *memory, size_t alignment) noexcept;

/// `count` default-constructed objects in one allocation; null when there is no memory.
template <class T>
T *AllocateArray(size_t count) noexcept {
    constexpr size_t alignment = alignof(T) > 16 ? alignof(T) : 16;
    void *memory = AllocateZeroed(sizeof(T) * count, alignment);
    if (memory == nullptr) return nullptr;
    T *first = static_cast<T *>(memory);
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    return first;
}

template <class T>
void FreeArray(T *first, size_t count) noexcept {
    if (first == nullptr) return;
    for (size_t i = 0; i < count; ++i) first[i].~T();
    FreeMemory(first, alignof(T) > 16 ? alignof(T) : 16);
}

}  // namespace weft::internal
