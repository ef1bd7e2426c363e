// One reservation for the stacks of all fibers, with a guard page at both ends of each.
#pragma once

#include "weft/options.h"

#include <cstddef>

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

    /// `stackBytes` is rounded up to whole pages. Ok, OutOfMemory or OutOfMappings; nothing is held after a failure.
    Status Acquire(size_t count, size_t stackBytes) noexcept;
    void Release() noexcept;

    /// Lowest usable byte of stack `index`.
    char *Bottom(size_t index) const noexcept { return m_base + m_pageBytes + index * (m_stackBytes + m_pageBytes); }
    size_t StackBytes() const noexcept { return m_stackBytes; }
    size_t PageBytes() const noexcept { return m_pageBytes; }

private:
    char *m_base = nullptr;
    size_t m_bytes = 0;
    size_t m_stackBytes = 0;
    size_t m_pageBytes = 0;
};

}  // namespace weft::internal
