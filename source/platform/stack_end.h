// What lies below a fiber's stack, and who has to know it.
//
// Windows runs a handler for a fault on the stack that faulted. So below a stack lie a page that is found out at once, room
// for the handler, and a page that nobody enters:
//
//     | no access, 4 KiB | kHandlerBytes | guard page, 4 KiB | stack, growing down ...
//
// The guard page is the system's own kind (PAGE_GUARD): with its first use it becomes an ordinary page and the system raises
// STATUS_STACK_OVERFLOW, if what was hit belongs to the thread's stack for it, and kHandlerBytes are guaranteed to be left.
// POSIX has stacks for handlers (signal_stack.h) and nothing to tell.
#pragma once

#include <cstddef>

#if defined(_WIN32)
#include <intrin.h>
#endif

namespace weft::internal {

#if defined(_WIN32)

inline constexpr size_t kPageBytes = 4 << 10;
inline constexpr size_t kHandlerBytes = 32 << 10;
inline constexpr size_t kStackEndBytes = kPageBytes + kHandlerBytes + kPageBytes;

/// The calling context's stack goes on below `bottom` as above. Boost keeps this with the context.
inline void AnnounceStackEnd(const char *bottom) noexcept {
    constexpr unsigned long kDeallocationStack = 0x1478;  // in the thread's block, where Boost has it from too
    __writegsqword(kDeallocationStack, reinterpret_cast<unsigned long long>(bottom - kStackEndBytes));
}

#else

inline void AnnounceStackEnd(const char *) noexcept {}

#endif

}  // namespace weft::internal
