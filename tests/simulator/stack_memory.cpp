// Stacks that are kept for the next schedule: the system's calls took two thirds of an exploration's time.
#include "platform/stack_memory.h"

#include <map>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::internal {

namespace {

std::map<std::pair<size_t, size_t>, std::vector<char *>> s_free;  // by all bytes and the bytes of a stack

}  // namespace

Status StackMemory::Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks) noexcept {
    m_hooks = hooks;  // not asked
    m_pageBytes = m_guardBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    const size_t stride = m_stackBytes + m_guardBytes;
    m_bytes = count * stride + m_guardBytes;
    std::vector<char *> &free = s_free[{m_bytes, m_stackBytes}];
    if (!free.empty()) {
        m_base = free.back();
        free.pop_back();
        return Status::Ok;
    }
    void *base = mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return Status::OutOfMemory;
    m_base = static_cast<char *>(base);
    for (size_t i = 0; i <= count; ++i) {
        if (mprotect(m_base + i * stride, m_guardBytes, PROT_NONE) != 0) return Status::OutOfMappings;
    }
    return Status::Ok;
}

void StackMemory::Release() noexcept {
    if (m_base != nullptr) s_free[{m_bytes, m_stackBytes}].push_back(m_base);
    m_base = nullptr;
}

}  // namespace weft::internal
