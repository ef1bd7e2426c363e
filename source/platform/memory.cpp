// The calls of the host's memory functions, or of operator new if there are none.
#include "platform/memory.h"

#include "platform/compiler.h"
#include "platform/leak_roots.h"
#include "platform/memory_hook.h"
#include "platform/race_finder.h"

#include <cstring>

namespace weft::internal {

void *AllocateWith(const MemoryHooks &hooks, size_t bytes, size_t alignment) noexcept {
    const race::Unwatched unwatched;  // ThreadSanitizer treats an allocation as a write
    if (hooks.allocate == nullptr)
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    const MemoryHookCall call;
    void *const memory = hooks.allocate(bytes, alignment, hooks.user);
    if (WEFT_LIKELY((reinterpret_cast<uintptr_t>(memory) & (alignment - 1)) == 0)) {
        if (memory != nullptr) AddLeakRoot(memory, bytes);
        return memory;
    }
    hooks.release(memory, bytes, alignment, hooks.user);  // weft would write beside its objects
    return nullptr;
}

void ReleaseWith(const MemoryHooks &hooks, void *memory, size_t bytes, size_t alignment) noexcept {
    if (memory == nullptr) return;
    const race::Unwatched unwatched;
    if (hooks.allocate == nullptr) return ::operator delete(memory, std::align_val_t(alignment));
    RemoveLeakRoot(memory, bytes);
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
    void *memory = AllocateWith(m_hooks != nullptr ? *m_hooks : MemoryHooks(), bytes, alignment);
    const race::Unwatched unwatched;
    if (memory != nullptr) std::memset(memory, 0, bytes);
    return memory;
}

void Memory::Free(void *memory, size_t bytes, size_t alignment) const noexcept {
    ReleaseWith(m_hooks != nullptr ? *m_hooks : MemoryHooks(), memory, bytes, alignment);
}

}  // namespace weft::internal
