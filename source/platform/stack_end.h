// What lies below a fiber's stack on Windows, which runs a handler for a fault on the stack that
// faulted. So there are a page that is found out at once, room for the handler, and a page that
// nobody enters:
//
//     | no access, 4 KiB | kHandlerBytes | guard page, 4 KiB | stack, growing down ...
//
// The guard page is the system's own kind (PAGE_GUARD): when it is first touched it becomes an
// ordinary page, and the system raises STATUS_STACK_OVERFLOW if it takes it for a part of the
// thread's stack (thread_block.h) with no more than what is guaranteed to handlers below it
// (signal_stack_windows.cpp). POSIX has stacks for handlers, and needs none of this.
#pragma once

#include <cstddef>

namespace weft::internal {

inline constexpr size_t kPageBytes = 4 << 10;
inline constexpr size_t kHandlerBytes = 32 << 10;
inline constexpr size_t kStackEndBytes = kPageBytes + kHandlerBytes + kPageBytes;

}  // namespace weft::internal
