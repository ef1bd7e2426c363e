// Memory that neither weft nor operator new gives, and what this process has of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace test {

size_t PageBytes();

/// Zeroed pages that can be read and written; null without memory.
void *MapPages(size_t bytes);
void UnmapPages(void *pages, size_t bytes);
/// False if the system refuses.
bool LockPages(void *pages, size_t bytes);
bool ForbidPages(void *pages, size_t bytes);

/// From the C library; null without memory.
void *AllocateAligned(size_t bytes, size_t alignment);
void FreeAligned(void *memory);

/// Ranges of pages that this process has, and how much address space they take.
uint32_t Mappings();
size_t VirtualBytes();

}  // namespace test
