// Pages and mappings with the Windows API.
#include "support/pages.h"

#include "platform/windows_api.h"

#include <malloc.h>

namespace test {

namespace {

// Calls use(region) for each region that this process has reserved or committed.
template <class Use>
void ForEachRegion(Use use) {
    MEMORY_BASIC_INFORMATION region;
    for (const char *at = nullptr; VirtualQuery(at, &region, sizeof region) != 0;) {
        if (region.State != MEM_FREE) use(region);
        at = static_cast<const char *>(region.BaseAddress) + region.RegionSize;
    }
}

}  // namespace

size_t PageBytes() {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

void *MapPages(size_t bytes) {
    return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void UnmapPages(void *pages, size_t) { VirtualFree(pages, 0, MEM_RELEASE); }

bool LockPages(void *pages, size_t bytes) { return VirtualLock(pages, bytes) != 0; }

bool ForbidPages(void *pages, size_t bytes) {
    DWORD before;
    return VirtualProtect(pages, bytes, PAGE_NOACCESS, &before) != 0;
}

void *AllocateAligned(size_t bytes, size_t alignment) { return _aligned_malloc(bytes, alignment); }

void FreeAligned(void *memory) { _aligned_free(memory); }

uint32_t Mappings() {
    uint32_t count = 0;
    ForEachRegion([&](const MEMORY_BASIC_INFORMATION &) { ++count; });
    return count;
}

size_t VirtualBytes() {
    size_t bytes = 0;
    ForEachRegion([&](const MEMORY_BASIC_INFORMATION &region) { bytes += region.RegionSize; });
    return bytes;
}

}  // namespace test
