#include "platform/memory.h"

#include "platform/race_finder.h"

#include <cstring>

namespace weft::internal {

void *Memory::AllocateZeroed(size_t bytes, size_t alignment) const noexcept {
    const race::Unwatched unwatched;  // ThreadSanitizer takes an allocation for a write
    void *memory = m_hooks != nullptr ? m_hooks->allocate(bytes, alignment, m_hooks->user)
                                      : ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    if (memory != nullptr) std::memset(memory, 0, bytes);
    return memory;
}

void Memory::Free(void *memory, size_t bytes, size_t alignment) const noexcept {
    if (memory == nullptr) return;
    const race::Unwatched unwatched;
    if (m_hooks != nullptr) {
        m_hooks->release(memory, bytes, alignment, m_hooks->user);
    } else {
        ::operator delete(memory, std::align_val_t(alignment));
    }
}

}  // namespace weft::internal
