// Stacks with mmap. A guard is set with MADV_GUARD_INSTALL, or with mprotect on an older Linux.
#include "platform/stack_memory.h"

#include "platform/leak_roots.h"
#include "platform/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::internal {

namespace {

// Since Linux 6.13. Such a guard needs no mapping of its own, and takes a sixth of mprotect's time.
constexpr int kMadviseGuardInstall = 102;
constexpr int kMadviseGuardRemove = 103;

// A function that is compiled with -fstack-clash-protection touches a larger frame in steps, so it
// cannot step over a guard of this size. On aarch64 g++ assumes guards of 64 KiB.
#if defined(__aarch64__)
constexpr size_t kMinGuardBytes = 64 << 10;
#else
constexpr size_t kMinGuardBytes = 4 << 10;
#endif

#if defined(__linux__)
// A kernel that accepts an unknown advice accepts all advice and follows none. qemu's user
// emulation does this: it reports success for a guard that it has not set.
bool IsAdviceFollowed() noexcept {
    constexpr int kNonsense = -1;
    static const bool isFollowed = madvise(nullptr, 0, kNonsense) != 0;
    return isFollowed;
}
#endif

// Makes the pages inaccessible. LeakSanitizer, which reads the stacks, crashes at a guard that was
// set by an advice.
bool Guard(char *pages, size_t bytes) noexcept {
#if defined(__linux__)
    if (!HasLeakSanitizer() && IsAdviceFollowed() &&
        madvise(pages, bytes, kMadviseGuardInstall) == 0)
        return true;
#endif
    return mprotect(pages, bytes, PROT_NONE) == 0;
}

char *Map(size_t bytes) noexcept {
    void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? nullptr : static_cast<char *>(base);
}

// Removes a guard from pages that go back to the host, which may use them again. Both calls are
// needed. MADV_GUARD_REMOVE also succeeds if the guard was set by mprotect, for example because the
// page is locked in memory and MADV_GUARD_INSTALL refused it.
void RemoveGuard(char *pages, size_t bytes) noexcept {
#if defined(__linux__)
    madvise(pages, bytes, kMadviseGuardRemove);
#endif
    mprotect(pages, bytes, PROT_READ | PROT_WRITE);
}

}  // namespace

Status StackMemory::Acquire(size_t count, size_t stackBytes, const MemoryHooks *hooks) noexcept {
    m_hooks = hooks;
    m_pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    m_guardBytes = std::max(m_pageBytes, kMinGuardBytes);
    // only the product below can overflow
    if (stackBytes > SIZE_MAX / 4) return Status::OutOfMemory;
    m_stackBytes = (stackBytes + m_pageBytes - 1) / m_pageBytes * m_pageBytes;
    const size_t stride = m_stackBytes + m_guardBytes;
    if (count > (SIZE_MAX - m_guardBytes) / stride) return Status::OutOfMemory;
    m_bytes = count * stride + m_guardBytes;

    m_base =
        hooks != nullptr ? static_cast<char *>(CallReserveStacks(*hooks, m_bytes)) : Map(m_bytes);
    if (m_base == nullptr) return Status::OutOfMemory;
    AddLeakRoot(m_base, m_bytes);
#if defined(__linux__)
    // A huge page would take 2 MiB for a stack that uses 4 KiB. A failure does no harm.
    madvise(m_base, m_bytes, MADV_NOHUGEPAGE);
#endif

    for (size_t i = 0; i <= count; ++i) {
        if (!Guard(m_base + i * stride, m_guardBytes)) {
            const bool mappings = errno == ENOMEM;
            Release();
            return mappings ? Status::OutOfMappings : Status::OutOfMemory;
        }
    }
    return Status::Ok;
}

char *FirstTouched(char *begin, char *end) noexcept {
    constexpr size_t kPages = 64;
    static const uintptr_t pageBytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    char *page = begin - reinterpret_cast<uintptr_t>(begin) % pageBytes;
    while (page < end) {
        unsigned char isTouched[kPages];
        const size_t left = (static_cast<size_t>(end - page) + pageBytes - 1) / pageBytes;
        const size_t count = std::min(left, kPages);
        if (mincore(page, count * pageBytes, isTouched) != 0) return begin;
        for (size_t i = 0; i < count; ++i) {
            if ((isTouched[i] & 1) != 0) return std::max(begin, page + i * pageBytes);
        }
        page += count * pageBytes;
    }
    return end;
}

void ForgetPages(char *begin, char *end) noexcept {
    static const uintptr_t pageBytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    begin += (pageBytes - reinterpret_cast<uintptr_t>(begin) % pageBytes) % pageBytes;
    end -= reinterpret_cast<uintptr_t>(end) % pageBytes;
    if (begin < end) madvise(begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
}

void StackMemory::Release() noexcept {
    if (m_base == nullptr) return;
    RemoveLeakRoot(m_base, m_bytes);
    if (m_hooks == nullptr) {
        munmap(m_base, m_bytes);
    } else {
        for (size_t guard = 0; guard < m_bytes; guard += m_stackBytes + m_guardBytes)
            RemoveGuard(m_base + guard, m_guardBytes);
        CallReleaseStacks(*m_hooks, m_base, m_bytes);
    }
    m_base = nullptr;
}

}  // namespace weft::internal
