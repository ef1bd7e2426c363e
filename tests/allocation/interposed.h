// Counts the calls of this process that get or change memory, and its direct system calls.
#pragma once

#include <cstdint>

namespace test {

/// Returns the number of calls of malloc, calloc, realloc, free, aligned_alloc, posix_memalign,
/// memalign, mmap, munmap, mprotect and madvise, by all threads, while counting was on.
uint64_t CountedCalls();

/// Returns the number of calls of syscall, by all threads, while counting was on. weft sleeps and
/// wakes threads with syscall.
uint64_t CountedSystemCalls();

void CountCalls(bool on);

/// While it is on, threads wait in pthread_setname_np. This is the first function that a thread of
/// weft calls.
void HoldNewThreads(bool on);

}  // namespace test
