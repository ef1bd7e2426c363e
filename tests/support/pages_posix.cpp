// Pages with mmap, and mappings from /proc.
#include "support/pages.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace test {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void *MapPages(size_t bytes) {
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void UnmapPages(void *pages, size_t bytes) { munmap(pages, bytes); }

bool LockPages(void *pages, size_t bytes) { return mlock(pages, bytes) == 0; }

bool ForbidPages(void *pages, size_t bytes) { return mprotect(pages, bytes, PROT_NONE) == 0; }

void *AllocateAligned(size_t bytes, size_t alignment) {
    void *memory = nullptr;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void FreeAligned(void *memory) { std::free(memory); }

uint32_t Mappings() {
    uint32_t lines = 0;
    if (std::FILE *file = std::fopen("/proc/self/maps", "r")) {
        for (int c; (c = std::fgetc(file)) != EOF;) lines += c == '\n';
        std::fclose(file);
    }
    return lines;
}

size_t VirtualBytes() {
    unsigned long pages = 0;
    if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return size_t{pages} * 4096;
}

}  // namespace test
