// Stacks with VirtualAlloc.
#include "platform/stack_memory.h"

#include "platform/memory.h"
#include "platform/stack_end.h"
#include "platform/windows_api.h"

#include <cstdint>

namespace weft::internal {

namespace {

bool Protect(char *pages, size_t bytes, DWORD protection) noexcept {
    DWORD before;
    return VirtualProtect(pages, bytes, protection, &before) != 0;
}

// Sets both pages of stack_end.h. A frame cannot step over them, because compilers for Windows
// touch each page of a large frame in order.
bool Guard(char *end) noexcept {
    return Protect(end, kPageBytes, PAGE_NOACCESS) &&
           Protect(end + kStackEndBytes - kPageBytes, kPageBytes, PAGE_READWRITE | PAGE_GUARD);
}

// Commits all pages, because only the system's own stacks can grow. A page that is not touched
// takes no memory, but counts against the system's commit limit.
char *Map(size_t bytes) noexcept {
    return static_cast<char *>(
        VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

}  // namespace

Status StackMemory::Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks) noexcept {
    m_hooks = hooks;
    m_pageBytes = kPageBytes;
    m_guardBytes = kStackEndBytes;
    // only the product below can overflow
    if (stackBytes > SIZE_MAX / 4) return Status::OutOfMemory;
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    const size_t stride = m_stackBytes + m_guardBytes;
    if (count > (SIZE_MAX - m_guardBytes) / stride) return Status::OutOfMemory;
    m_bytes = count * stride + m_guardBytes;

    m_base =
        hooks != nullptr ? static_cast<char *>(CallReserveStacks(*hooks, m_bytes)) : Map(m_bytes);
    if (m_base == nullptr) return Status::OutOfMemory;
    for (size_t i = 0; i <= count; ++i) {
        if (!Guard(m_base + i * stride)) {
            Release();
            return Status::OutOfMemory;
        }
    }
    return Status::Ok;
}

char *FirstTouched(char *begin, char *) noexcept { return begin; }

void ForgetPages(char *, char *) noexcept {}

void StackMemory::Release() noexcept {
    if (m_base == nullptr) return;
    if (m_hooks == nullptr) {
        VirtualFree(m_base, 0, MEM_RELEASE);
    } else {
        for (size_t guard = 0; guard < m_bytes; guard += m_stackBytes + m_guardBytes)
            // the host may use the pages again
            Protect(m_base + guard, m_guardBytes, PAGE_READWRITE);
        CallReleaseStacks(*m_hooks, m_base, m_bytes);
    }
    m_base = nullptr;
}

}  // namespace weft::internal
