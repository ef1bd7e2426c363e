// One reservation for the stacks of all fibers, with guard pages at both ends of each.
#pragma once

#include "weft/hooks.h"
#include "weft/options.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// Address space for `count` stacks of one size. Pages are committed when they are touched.
///
///     | guard | stack 0 | guard | stack 1 | guard | ... | guard |
class StackMemory {
public:
    StackMemory() = default;
    StackMemory(const StackMemory &) = delete;
    StackMemory &operator=(const StackMemory &) = delete;
    ~StackMemory() { Release(); }

    /// `stackBytes` is rounded up to whole pages. Ok, OutOfMemory or OutOfMappings; nothing is held
    /// after a failure. `hooks`: where the pages come from, null for the system's own; it outlives
    /// this.
    Status Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks = nullptr) noexcept;
    void Release() noexcept;

    /// Which stack, or which guard, an address is in; false if neither. Async-signal-safe.
    struct Place {
        size_t index;  ///< of the stack, or of the stack above the guard
        bool isGuard;
    };
    bool Find(const void *address, Place &place) const noexcept {
        const auto byte = reinterpret_cast<uintptr_t>(address),
                   base = reinterpret_cast<uintptr_t>(m_base);
        if (m_base == nullptr || byte < base || byte - base >= m_bytes) return false;
        const size_t stride = m_stackBytes + m_guardBytes;
        place = {(byte - base) / stride, (byte - base) % stride < m_guardBytes};
        return true;
    }

    /// Lowest usable byte of stack `index`.
    char *Bottom(size_t index) const noexcept {
        return m_base + m_guardBytes + index * (m_stackBytes + m_guardBytes);
    }
    size_t StackBytes() const noexcept { return m_stackBytes; }
    size_t PageBytes() const noexcept { return m_pageBytes; }
    size_t GuardBytes() const noexcept { return m_guardBytes; }

private:
    char *m_base = nullptr;
    size_t m_bytes = 0;
    size_t m_stackBytes = 0;
    size_t m_pageBytes = 0;
    size_t m_guardBytes = 0;  // whole pages
    const MemoryHooks *m_hooks = nullptr;
};

}  // namespace weft::internal
