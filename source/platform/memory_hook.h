// A call of one of the host's memory functions. It comes in the middle of anything: a queue is
// about to grow, a lock of weft's is held. So nothing of weft may be called there but what only
// asks.
//
// While it lasts env::ThreadSlot() is null. So calls find no worker and come to the checks for
// other threads, which look here; the calls of workers have nothing to look at. Nobody waits in it,
// so nobody changes threads.
#pragma once

#include "platform/env.h"

namespace weft::internal {

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

    /// In which the calling thread is, or null. One may come in another one: a memory function may
    /// make a WaitGroup.
    static MemoryHookCall *Current() noexcept {
        return static_cast<MemoryHookCall *>(env::HookSlot());
    }

    /// What env::ThreadSlot() is, and in a memory function what it was before.
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
