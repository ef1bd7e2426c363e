// The storage of WorkerLocal and FiberLocal: an array of values, each on cache lines of its own.
#pragma once

#include "weft/hooks.h"

#include <cstddef>
#include <cstdint>
#include <new>

namespace weft::internal {

/// `count` values that are made and destroyed together. Without memory there are none.
template <class T>
class Places {
public:
    template <class... Args>
    Places(const MemoryHooks &memory, uint32_t count, const Args &...args) noexcept
        : m_memory(memory) {
        const size_t bytes = sizeof(Place) * count;
        m_places = static_cast<Place *>(internal::AllocateWith(m_memory, bytes, alignof(Place)));
        if (m_places == nullptr) return;
        for (; m_count < count; ++m_count) new (m_places + m_count) Place{T(args...)};
    }
    ~Places() {
        if (m_places == nullptr) return;
        for (uint32_t i = 0; i < m_count; ++i) m_places[i].~Place();
        internal::ReleaseWith(m_memory, m_places, sizeof(Place) * m_count, alignof(Place));
    }
    Places(const Places &) = delete;
    Places &operator=(const Places &) = delete;

    uint32_t Count() const noexcept { return m_count; }
    /// Returns null if `index` is not below Count().
    T *At(uint32_t index) noexcept { return index < m_count ? &m_places[index].value : nullptr; }

private:
    struct alignas(alignof(T) > 64 ? alignof(T) : 64) Place {
        T value;
    };

    const MemoryHooks m_memory;
    Place *m_places = nullptr;
    uint32_t m_count = 0;
};

}  // namespace weft::internal
