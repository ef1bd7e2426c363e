// Pages directly from the system, and how much memory this process has mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace test {

size_t PageBytes();

/// Returns zeroed pages that are readable and writable, or null if there is no memory.
void *MapPages(size_t bytes);
void UnmapPages(void *pages, size_t bytes);
/// Returns false if the system refuses.
bool LockPages(void *pages, size_t bytes);
bool ForbidPages(void *pages, size_t bytes);

/// Allocates with the C library. Returns null if there is no memory.
void *AllocateAligned(size_t bytes, size_t alignment);
void FreeAligned(void *memory);

/// The number of mappings of this process, and the size of its address space.
uint32_t Mappings();
size_t VirtualBytes();

}  // namespace test
