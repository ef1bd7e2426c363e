// Where the operating system puts the heap must not decide which atomics share a cache line. All
// that the scheduler allocates has an alignment, so each of such allocations gets pages of its own,
// and lines that nobody holds yet.
#include "machine/machine.h"

#include <algorithm>
#include <cstdlib>
#include <new>

void *operator new(size_t bytes, std::align_val_t alignment) {
    constexpr size_t kPage = 4096;
    const size_t stride = std::max(kPage, static_cast<size_t>(alignment));
    const size_t rounded = (bytes + stride - 1) / stride * stride;
    void *memory = std::aligned_alloc(stride, rounded);
    if (memory == nullptr) std::abort();
    machine::Forget(memory, rounded);
    return memory;
}

void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
