// What a stack overflow needs in order to be reported: a stack for signal handlers, and a handler
// that asks who overflowed and then lets whoever was there before go on.
#pragma once

#include "platform/memory.h"

#include <cstddef>

namespace weft::env {

/// An alternate signal stack for one thread.
class SignalStack {
public:
    SignalStack() = default;
    SignalStack(const SignalStack &) = delete;
    SignalStack &operator=(const SignalStack &) = delete;
    ~SignalStack() { m_memory.Free(m_stack, m_bytes, 16); }

    /// False without memory. Any thread.
    bool Acquire(internal::Memory memory) noexcept;
    /// For the calling thread, if it has none; and takes it away again, if it was set.
    void Set() noexcept;
    void Reset() noexcept;

private:
    void *m_stack = nullptr;
    size_t m_bytes = 0;
    bool m_isSet = false;
    internal::Memory m_memory;
};

/// For SIGSEGV and SIGBUS, process-wide: calls describe(address) in the handler, then the handler
/// that was there before. Installed by the first caller, removed by the last.
bool InstallFaultHandler(void (*describe)(const void *address)) noexcept;
void RemoveFaultHandler() noexcept;

}  // namespace weft::env
