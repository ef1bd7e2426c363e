// Marks a call of one of the host's memory functions. Such a call comes in the middle of weft's
// work: a queue is about to grow, or a lock of weft is held. So of weft's functions, the host may
// call only those that MemoryHooks (weft/hooks.h) lists.
//
// During the call env::ThreadSlot() is null. So calls into weft take the paths of threads that are
// no workers, and these paths check for a MemoryHookCall. The paths of workers need no check. The
// fiber cannot wait in a memory function, so it does not change threads.
#pragma once

#include "platform/env.h"

namespace weft::internal {

/// Lives while the memory function is called.
class MemoryHookCall {
public:
    MemoryHookCall() noexcept
        : m_outer(Current()),
          m_threadSlot(m_outer != nullptr ? m_outer->m_threadSlot : env::ThreadSlot()) {
        env::SetHookSlot(this);
        env::SetThreadSlot(nullptr);
    }
    ~MemoryHookCall() {
        env::SetHookSlot(m_outer);
        if (m_outer == nullptr) env::SetThreadSlot(m_threadSlot);
    }
    MemoryHookCall(const MemoryHookCall &) = delete;
    MemoryHookCall &operator=(const MemoryHookCall &) = delete;

    /// Returns the innermost call that the thread is in, or null. Calls may be nested: a memory
    /// function may make a WaitGroup.
    static MemoryHookCall *Current() noexcept {
        return static_cast<MemoryHookCall *>(env::HookSlot());
    }

    /// Returns env::ThreadSlot(). In a memory function, returns the value that it had before the
    /// call.
    static void *ThreadSlot() noexcept {
        void *const slot = env::ThreadSlot();
        if (slot != nullptr) return slot;
        const MemoryHookCall *const call = Current();
        return call != nullptr ? call->m_threadSlot : nullptr;
    }

private:
    MemoryHookCall *const m_outer;
    void *const m_threadSlot;
};

}  // namespace weft::internal
