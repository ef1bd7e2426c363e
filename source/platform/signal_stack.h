// What is needed to report a stack overflow: a stack for signal handlers, a handler, and a function
// that it may call to write. The handler reports which fiber has overflowed, and then calls the
// handler that was installed before.
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

    /// Returns false if there is no memory. Thread-safe.
    bool Acquire(internal::Memory memory) noexcept;
    /// Set makes it the signal stack of the calling thread, unless the thread has one. Reset undoes
    /// this.
    void Set() noexcept;
    void Reset() noexcept;

private:
    void *m_stack = nullptr;
    size_t m_bytes = 0;
    bool m_isSet = false;
    internal::Memory m_memory;
};

/// Installs a process-wide handler for SIGSEGV and SIGBUS (Windows: for exceptions of this kind).
/// It calls describe(address), then the handler that was installed before. The first call installs
/// it, the last RemoveFaultHandler removes it. Returns false if the system refuses.
bool InstallFaultHandler(void (*describe)(const void *address)) noexcept;
void RemoveFaultHandler() noexcept;

/// Writes to stderr. Async-signal-safe.
void WriteError(const char *text) noexcept;

}  // namespace weft::env
