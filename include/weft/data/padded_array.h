// The storage of WorkerLocal and FiberLocal: an array of values, each on cache lines of its own.
#pragma once

#include "weft/export.h"
#include "weft/hooks.h"

#include <cstddef>
#include <cstdint>
#include <new>

namespace weft {
class TaskScheduler;
}

namespace weft::internal {

/// Returns the memory hooks of a scheduler's options.
WEFT_API const MemoryHooks &MemoryHooksOf(const TaskScheduler &scheduler) noexcept;

/// `count` values that are made and destroyed together. Without memory there are none.
template <class T>
class PaddedArray {
public:
    template <class... Args>
    PaddedArray(const MemoryHooks &memory, uint32_t count, const Args &...args) noexcept
        : m_memory(memory) {
        const size_t bytes = sizeof(Slot) * count;
        m_slots = static_cast<Slot *>(internal::AllocateWith(m_memory, bytes, alignof(Slot)));
        if (m_slots == nullptr) return;
        for (; m_count < count; ++m_count) new (m_slots + m_count) Slot{T(args...)};
    }
    ~PaddedArray() {
        if (m_slots == nullptr) return;
        for (uint32_t i = 0; i < m_count; ++i) m_slots[i].~Slot();
        internal::ReleaseWith(m_memory, m_slots, sizeof(Slot) * m_count, alignof(Slot));
    }
    PaddedArray(const PaddedArray &) = delete;
    PaddedArray &operator=(const PaddedArray &) = delete;

    uint32_t Count() const noexcept { return m_count; }
    /// Returns null if `index` is not below Count().
    T *At(uint32_t index) noexcept { return index < m_count ? &m_slots[index].value : nullptr; }

private:
    struct alignas(alignof(T) > 64 ? alignof(T) : 64) Slot {
        T value;
    };

    const MemoryHooks m_memory;
    Slot *m_slots = nullptr;
    uint32_t m_count = 0;
};

}  // namespace weft::internal
