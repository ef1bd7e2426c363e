// One reservation of memory for the stacks of all fibers, with a guard below and above each stack.
#pragma once

#include "weft/hooks.h"
#include "weft/options.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// Address space for `count` stacks of one size. On POSIX a page takes memory only once it is
/// touched.
///
///     | guard | stack 0 | guard | stack 1 | guard | ... | guard |
class StackMemory {
public:
    StackMemory() = default;
    StackMemory(const StackMemory &) = delete;
    StackMemory &operator=(const StackMemory &) = delete;
    ~StackMemory() { Release(); }

    /// Reserves the stacks. `stackBytes` is rounded up to whole pages. `hooks`: the host's
    /// functions for stacks, which must outlive this object; null: the system's own. Returns Ok,
    /// OutOfMemory or OutOfMappings. After a failure nothing is reserved.
    Status Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks = nullptr) noexcept;
    void Release() noexcept;

    /// Finds the stack or the guard that an address is in. Returns false if it is in neither.
    /// Async-signal-safe.
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

    /// Returns the lowest usable byte of stack `index`.
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

/// Returns the lowest address in [begin, end) that is in a page which has been touched, or a lower
/// one if the system does not tell. Both must lie in one stack.
char *FirstTouched(char *begin, char *end) noexcept;

/// Gives the memory of all whole pages in [begin, end) back to the system. Both must lie in one
/// stack. What they hold is lost. Does nothing if the system cannot do that.
void ForgetPages(char *begin, char *end) noexcept;

}  // namespace weft::internal
