// A point at which execution can be left and continued: Boost.Context's fcontext. When a thread
// changes stacks, sanitizers, Valgrind and the C++ runtime must know. Only this class informs them.
#pragma once

#include "platform/exception_state.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::internal {

/// The context of a thread's own stack (Adopt) or of a fiber (Create). It may be moved while no
/// thread runs on it.
class FiberContext {
public:
    FiberContext() = default;
    FiberContext(FiberContext &&other) noexcept { *this = std::move(other); }
    FiberContext &operator=(FiberContext &&other) noexcept;

    /// Makes this the context of the stack that the calling thread runs on.
    void Adopt() noexcept;

    /// Makes a context on a new stack, [bottom, bottom + bytes). The first switch to it calls
    /// entry(arg). When `entry` returns a context, execution continues in that one. This context
    /// has ended then, and must be created again before it is used again.
    void Create(char *bottom, size_t bytes, FiberContext *(*entry)(void *arg), void *arg) noexcept;

    /// Returns the lowest byte of the stack that the context needs while it is left. Null before
    /// Create, and while it runs.
    char *LowestByte() const noexcept { return static_cast<char *>(m_handle); }

    /// Frees the resources of the checkers. Call it from another context.
    void Destroy() noexcept;

    /// Leaves `from`, on which the caller runs, and continues `to`. Returns when a thread switches
    /// to `from` again, perhaps on another thread. `from` is complete only when the next context
    /// has landed; before that no thread may switch to it.
    friend void SwitchContext(FiberContext &from, FiberContext &to) noexcept;

private:
    friend struct DebugLayout;
    struct Landing;
    void *m_handle = nullptr;           // fcontext_t while the context does not run
    FiberContext *m_leftFor = nullptr;  // the context that this one was last left for
    ExceptionState m_exceptions;
    ExceptionState *m_threadExceptions = nullptr;  // of the thread that the context runs on
    FiberContext *(*m_entry)(void *) = nullptr;
    void *m_arg = nullptr;
    const void *m_stackBottom = nullptr;
    size_t m_stackBytes = 0;
    void *m_tsanFiber = nullptr;
    void *m_asanFakeStack = nullptr;
    void *m_leakRoot = nullptr;  // where the part of a thread's own stack begins that is in use
    unsigned m_valgrindStack = 0;
    bool m_isNew = false;  // no thread has switched to it yet
    bool m_ending = false;
    // used only if fcontext does not keep the floating-point control words
    uint64_t m_floatingPoint = 0;
};

}  // namespace weft::internal
