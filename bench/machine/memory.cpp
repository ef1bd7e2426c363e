// Makes results independent of where the heap places memory, which decides which atomics share a
// cache line. All allocations of the scheduler have an alignment. So each such allocation gets its
// own pages, and cache lines that no core holds yet.
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
