// Values in the thread's block (TEB) on Windows that belong to the stack that the thread runs on.
// Boost's jump switches the bounds of the stack. This file switches the rest. Other systems have
// nothing of this kind.
#pragma once

#if defined(_WIN32)
#include "platform/stack_end.h"

#include <intrin.h>
#endif

namespace weft::internal {

#if defined(_WIN32)

// Offsets in the block, for x86-64.
inline constexpr unsigned long kHandlers = 0x0;
inline constexpr unsigned long kDeallocationStack = 0x1478;  // Boost switches this one, too

/// The list of exception handlers on the stack. Windows does not use it: it searches tables. But
/// wine puts its own handlers into the list at the start of each thread. If they lie at lower
/// addresses than the current stack, the search ends before it has begun.
inline unsigned long long StackHandlers() noexcept { return __readgsqword(kHandlers); }
inline void SetStackHandlers(unsigned long long handlers) noexcept {
    __writegsqword(kHandlers, handlers);
}

/// Call this first on a new stack. The stack has no handlers, and below `bottom` it is laid out as
/// in stack_end.h.
inline void BeginStack(const void *bottom) noexcept {
    constexpr unsigned long long kNoHandlers = ~0ull;
    SetStackHandlers(kNoHandlers);
    __writegsqword(kDeallocationStack,
                   reinterpret_cast<unsigned long long>(bottom) - kStackEndBytes);
}

#else

inline unsigned long long StackHandlers() noexcept { return 0; }
inline void SetStackHandlers(unsigned long long) noexcept {}
inline void BeginStack(const void *) noexcept {}

#endif

}  // namespace weft::internal
