#include "platform/stack_memory.h"

#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::internal {

namespace {

// Linux 6.13: a guard that costs no mapping of its own and a sixth of an mprotect.
constexpr int kMadviseGuardInstall = 102;

bool Guard(char *page, size_t pageBytes) noexcept {
    if (madvise(page, pageBytes, kMadviseGuardInstall) == 0) return true;
    return mprotect(page, pageBytes, PROT_NONE) == 0;
}

}  // namespace

Status StackMemory::Acquire(size_t count, size_t stackBytes) noexcept {
    m_pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (stackBytes > SIZE_MAX / 4) return Status::OutOfMemory;  // nothing below overflows but the product
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    const size_t stride = m_stackBytes + m_pageBytes;
    if (count > (SIZE_MAX - m_pageBytes) / stride) return Status::OutOfMemory;
    m_bytes = count * stride + m_pageBytes;

    void *base = mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return Status::OutOfMemory;
    m_base = static_cast<char *>(base);
    // A huge page under a stack would commit 2 MiB for the 4 KiB that are used. Best effort.
    madvise(m_base, m_bytes, MADV_NOHUGEPAGE);

    for (size_t i = 0; i <= count; ++i) {
        if (!Guard(m_base + i * stride, m_pageBytes)) {
            const bool mappings = errno == ENOMEM;
            Release();
            return mappings ? Status::OutOfMappings : Status::OutOfMemory;
        }
    }
    return Status::Ok;
}

void StackMemory::Release() noexcept {
    if (m_base != nullptr) munmap(m_base, m_bytes);
    m_base = nullptr;
}

}  // namespace weft::internal
