// A place where execution can be left and continued: Boost.Context's fcontext, and everything that
// sanitizers, Valgrind and the C++ runtime must be told when a thread changes stacks. The only file
// with such notes.
#pragma once

#include "platform/exception_state.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::internal {

/// A thread's own stack (Adopt) or a fiber's (Create). May be moved while nobody runs on it.
class FiberContext {
public:
    FiberContext() = default;
    FiberContext(FiberContext &&other) noexcept { *this = std::move(other); }
    FiberContext &operator=(FiberContext &&other) noexcept;

    /// Stands for the stack that the calling thread runs on now.
    void Adopt() noexcept;

    /// A new stack, [bottom, bottom + bytes). The first switch to it calls entry(arg). When entry
    /// returns, execution goes on in the context that it returns, and this one can only be created
    /// anew.
    void Create(char *bottom, size_t bytes, FiberContext *(*entry)(void *arg), void *arg) noexcept;

    /// Frees what the checkers hold. From another context only.
    void Destroy() noexcept;

    /// Leaves `from`, on which the caller runs, and continues `to`. Returns when somebody switches
    /// to `from` again, perhaps on another thread. `from` is whole, and may be switched to, only
    /// when the next context has landed.
    friend void SwitchContext(FiberContext &from, FiberContext &to) noexcept;

private:
    struct Landing;
    void *m_handle = nullptr;           // fcontext_t while it does not run
    FiberContext *m_leftFor = nullptr;  // that it was last left for
    ExceptionState m_exceptions;
    ExceptionState *m_threadExceptions = nullptr;  // of the thread that it runs on
    FiberContext *(*m_entry)(void *) = nullptr;
    void *m_arg = nullptr;
    const void *m_stackBottom = nullptr;
    size_t m_stackBytes = 0;
    void *m_tsanFiber = nullptr;
    void *m_asanFakeStack = nullptr;
    unsigned m_valgrindStack = 0;
    bool m_isNew = false;  // nothing has switched to it
    bool m_ending = false;
    uint64_t m_floatingPoint = 0;  // to go on with, where fcontext does not see to it
};

}  // namespace weft::internal
