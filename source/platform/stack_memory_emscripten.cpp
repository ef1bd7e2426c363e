// Stacks with malloc. WebAssembly has no protected pages, so there are no guards.
#include "platform/stack_memory.h"

#include "platform/memory.h"

#include <cstdint>
#include <cstdlib>

namespace weft::internal {

Status StackMemory::Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks) noexcept {
    m_hooks = hooks;
    m_pageBytes = 4 << 10;
    // only the product below can overflow
    if (stackBytes > SIZE_MAX / 4) return Status::OutOfMemory;
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    if (count > SIZE_MAX / 2 / m_stackBytes) return Status::OutOfMemory;
    m_bytes = count * m_stackBytes;
    m_base = static_cast<char *>(hooks != nullptr ? CallReserveStacks(*hooks, m_bytes)
                                                  : std::aligned_alloc(m_pageBytes, m_bytes));
    return m_base != nullptr ? Status::Ok : Status::OutOfMemory;
}

char *FirstTouched(char *begin, char *) noexcept { return begin; }

void ForgetPages(char *, char *) noexcept {}

void StackMemory::Release() noexcept {
    if (m_base == nullptr) return;
    if (m_hooks == nullptr) {
        std::free(m_base);
    } else {
        CallReleaseStacks(*m_hooks, m_base, m_bytes);
    }
    m_base = nullptr;
}

}  // namespace weft::internal
