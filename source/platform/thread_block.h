// What Windows keeps in a thread's block (TEB) although it belongs to the stack that the thread
// runs on. Boost's jump takes the stack's bounds along. This is the rest; elsewhere there is
// nothing of the kind.
#pragma once

#if defined(_WIN32)
#include "platform/stack_end.h"

#include <intrin.h>
#endif

namespace weft::internal {

#if defined(_WIN32)

// Offsets in the block, for x86-64.
inline constexpr unsigned long kHandlers = 0x0;
inline constexpr unsigned long kDeallocationStack = 0x1478;  // Boost takes it along as well

/// A list of exception handlers that lie on the stack. Windows searches tables instead, but wine
/// has handlers of its own at the start of each thread: found from a stack with higher addresses,
/// they end the search before it has begun.
inline unsigned long long StackHandlers() noexcept { return __readgsqword(kHandlers); }
inline void SetStackHandlers(unsigned long long handlers) noexcept {
    __writegsqword(kHandlers, handlers);
}

/// First on a new stack: it has no handlers, and goes on below `bottom` as stack_end.h says.
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
