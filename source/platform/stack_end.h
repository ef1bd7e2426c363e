// What lies below a fiber's stack on Windows. Windows runs the handler of a fault on the stack that
// faulted. So below each stack there are a guard page that detects the overflow, room for the
// handler, and a page without access:
//
//     | no access, 4 KiB | kHandlerBytes | guard page, 4 KiB | stack, growing down ...
//
// The guard page is of the system's own kind (PAGE_GUARD). The first access makes it an ordinary
// page. The system raises STATUS_STACK_OVERFLOW if two conditions hold: the page belongs to the
// thread's stack (thread_block.h), and the room below it is not larger than the room that the
// thread has asked for (signal_stack_windows.cpp). POSIX has signal stacks and needs none of this.
#pragma once

#include <cstddef>

namespace weft::internal {

inline constexpr size_t kPageBytes = 4 << 10;
inline constexpr size_t kHandlerBytes = 32 << 10;
inline constexpr size_t kStackEndBytes = kPageBytes + kHandlerBytes + kPageBytes;

}  // namespace weft::internal
