#include "platform/memory.h"

#include "platform/memory_hook.h"
#include "platform/race_finder.h"

#include <cstring>

namespace weft::internal {

void *CallAllocate(const MemoryHooks &hooks, size_t bytes, size_t alignment) noexcept {
    const MemoryHookCall call;
    return hooks.allocate(bytes, alignment, hooks.user);
}

void CallRelease(const MemoryHooks &hooks, void *memory, size_t bytes, size_t alignment) noexcept {
    const MemoryHookCall call;
    hooks.release(memory, bytes, alignment, hooks.user);
}

void *CallReserveStacks(const MemoryHooks &hooks, size_t bytes) noexcept {
    const MemoryHookCall call;
    return hooks.reserveStacks(bytes, hooks.user);
}

void CallReleaseStacks(const MemoryHooks &hooks, void *memory, size_t bytes) noexcept {
    const MemoryHookCall call;
    hooks.releaseStacks(memory, bytes, hooks.user);
}

void *Memory::AllocateZeroed(size_t bytes, size_t alignment) const noexcept {
    const race::Unwatched unwatched;  // ThreadSanitizer takes an allocation for a write
    void *memory = m_hooks != nullptr
                       ? CallAllocate(*m_hooks, bytes, alignment)
                       : ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    if (memory != nullptr) std::memset(memory, 0, bytes);
    return memory;
}

void Memory::Free(void *memory, size_t bytes, size_t alignment) const noexcept {
    if (memory == nullptr) return;
    const race::Unwatched unwatched;
    if (m_hooks != nullptr) {
        CallRelease(*m_hooks, memory, bytes, alignment);
    } else {
        ::operator delete(memory, std::align_val_t(alignment));
    }
}

}  // namespace weft::internal
