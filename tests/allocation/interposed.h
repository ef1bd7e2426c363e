// Counts the calls of this process that get memory from the C library or from the system, and those
// of the system that weft makes itself.
#pragma once

#include <cstdint>

namespace test {

/// Calls of malloc, calloc, realloc, free, aligned_alloc, posix_memalign, memalign, mmap, munmap,
/// mprotect and madvise, by any thread, while counting was on.
uint64_t CountedCalls();

/// Calls of syscall, which is how weft sleeps and wakes, by any thread, while counting was on.
uint64_t CountedSystemCalls();

void CountCalls(bool on);

/// While it is on, threads wait in pthread_setname_np, which is the first thing that a thread of
/// weft calls.
void HoldNewThreads(bool on);

}  // namespace test
