// The arrays of a graph while it is declared and checked.
#pragma once

#include "platform/memory.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::internal {

/// An array of plain data that grows to double its size. Its memory comes from the hooks, which
/// must outlive it.
template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "weft: elements are copied as bytes");

public:
    explicit GrowingArray(const MemoryHooks &memory) noexcept : m_memory(memory) {}
    ~GrowingArray() { m_memory.Free(m_items, m_room * sizeof(T), kAlignment); }
    GrowingArray(const GrowingArray &) = delete;
    GrowingArray &operator=(const GrowingArray &) = delete;

    uint32_t Count() const noexcept { return m_count; }
    T &operator[](uint32_t index) noexcept { return m_items[index]; }
    const T &operator[](uint32_t index) const noexcept { return m_items[index]; }
    T *begin() noexcept { return m_items; }
    T *end() noexcept { return m_items + m_count; }
    const T *begin() const noexcept { return m_items; }
    const T *end() const noexcept { return m_items + m_count; }

    /// Returns false if there is no memory.
    bool Add(const T &item) noexcept {
        if (m_count == m_room && !Reserve(m_room < 16 ? 16 : m_room * 2)) return false;
        m_items[m_count++] = item;
        return true;
    }
    /// Makes room for so many items. Returns false if there is no memory.
    bool Reserve(size_t room) noexcept {
        if (room <= m_room) return true;
        T *items = static_cast<T *>(m_memory.AllocateZeroed(room * sizeof(T), kAlignment));
        if (items == nullptr) return false;
        if (m_count != 0) std::memcpy(static_cast<void *>(items), m_items, m_count * sizeof(T));
        m_memory.Free(m_items, m_room * sizeof(T), kAlignment);
        m_items = items;
        m_room = room;
        return true;
    }
    /// Removes all items and keeps the room.
    void Clear() noexcept { m_count = 0; }
    /// Makes an empty array hold `count` items whose bytes are zero. Returns false if there is no
    /// memory.
    bool Fill(uint32_t count) noexcept {
        if (!Reserve(count)) return false;
        m_count = count;
        return true;
    }

private:
    static constexpr size_t kAlignment = alignof(T) > 16 ? alignof(T) : 16;
    const Memory m_memory;
    T *m_items = nullptr;
    size_t m_room = 0;
    uint32_t m_count = 0;
};

}  // namespace weft::internal
