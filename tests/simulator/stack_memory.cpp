// StackMemory for the simulator. It keeps stacks for the next schedule, because mapping them anew
// takes most of the time of a schedule.
#include "platform/stack_memory.h"

#include "support/pages.h"

#include <map>
#include <utility>
#include <vector>

namespace weft::internal {

namespace {

// Free memory, by its size and the size of a stack.
std::map<std::pair<size_t, size_t>, std::vector<char *>> s_free;

}  // namespace

Status StackMemory::Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks) noexcept {
    m_hooks = hooks;  // they are not called
    m_pageBytes = m_guardBytes = test::PageBytes();
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    const size_t stride = m_stackBytes + m_guardBytes;
    m_bytes = count * stride + m_guardBytes;
    std::vector<char *> &free = s_free[{m_bytes, m_stackBytes}];
    if (!free.empty()) {
        m_base = free.back();
        free.pop_back();
        return Status::Ok;
    }
    m_base = static_cast<char *>(test::MapPages(m_bytes));
    if (m_base == nullptr) return Status::OutOfMemory;
    for (size_t i = 0; i <= count; ++i) {
        if (!test::ForbidPages(m_base + i * stride, m_guardBytes)) return Status::OutOfMappings;
    }
    return Status::Ok;
}

char *FirstTouched(char *begin, char *) noexcept { return begin; }

void ForgetPages(char *, char *) noexcept {}

void StackMemory::Release() noexcept {
    if (m_base != nullptr) s_free[{m_bytes, m_stackBytes}].push_back(m_base);
    m_base = nullptr;
}

}  // namespace weft::internal
