// The memory functions that HostMemory gives to a scheduler, and their checks.
#include "support/host_memory.h"

#include "support/pages.h"

#include <cstring>

namespace test {

void HostMemory::AttachTo(weft::MemoryHooks &hooks, bool memory, bool stacks) {
    hooks.user = this;
    hooks.allocate = memory ? Allocate : nullptr;
    hooks.release = memory ? Release : nullptr;
    hooks.reserveStacks = stacks ? ReserveStacks : nullptr;
    hooks.releaseStacks = stacks ? ReleaseStacks : nullptr;
}

void HostMemory::FailFrom(int64_t nth, int64_t count) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_calls = 0;
    m_failed = false;
    m_failFrom = nth;
    m_failUntil = count > INT64_MAX - nth ? INT64_MAX : nth + count;
}

HostMemory::~HostMemory() {
    for (const auto &[pages, bytes] : m_kept) UnmapPages(pages, bytes);
}

bool HostMemory::MustFail() {
    const int64_t number = m_calls++;
    if (number < m_failFrom || number >= m_failUntil) return false;
    m_failed = true;
    return true;
}

void *HostMemory::Note(void *memory, Given given) {
    m_given[static_cast<char *>(memory)] = given;
    m_bytes += given.bytes;
    return memory;
}

bool HostMemory::Forget(void *memory, Given given) {
    const auto found = m_given.find(static_cast<char *>(memory));
    if (found == m_given.end() || found->second.bytes != given.bytes ||
        found->second.alignment != given.alignment) {
        ++m_wrong;
        return false;
    }
    m_bytes -= given.bytes;
    m_given.erase(found);
    return true;
}

bool HostMemory::IsStack(const void *address) const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    const auto byte = reinterpret_cast<uintptr_t>(address);
    for (const auto &[memory, given] : m_given) {
        const auto begin = reinterpret_cast<uintptr_t>(memory);
        if (given.alignment == 0 && byte >= begin && byte - begin < given.bytes) return true;
    }
    return false;
}

void *HostMemory::Allocate(size_t bytes, size_t alignment, void *user) {
    HostMemory &self = *static_cast<HostMemory *>(user);
    const std::lock_guard<std::mutex> lock(self.m_mutex);
    ++self.m_allocations;
    if (self.MustFail()) return nullptr;
    if (bytes == 0 || alignment < 16 || (alignment & (alignment - 1)) != 0) ++self.m_wrong;
    void *memory = AllocateAligned(bytes, alignment);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xa5, bytes);  // weft must not rely on zeros
    return self.Note(memory, {bytes, alignment});
}

void HostMemory::Release(void *memory, size_t bytes, size_t alignment, void *user) {
    HostMemory &self = *static_cast<HostMemory *>(user);
    const std::lock_guard<std::mutex> lock(self.m_mutex);
    if (self.Forget(memory, {bytes, alignment})) FreeAligned(memory);
}

void *HostMemory::ReserveStacks(size_t bytes, void *user) {
    HostMemory &self = *static_cast<HostMemory *>(user);
    const std::lock_guard<std::mutex> lock(self.m_mutex);
    ++self.m_reservations;
    if (self.MustFail()) return nullptr;
    if (bytes == 0 || bytes % PageBytes() != 0) ++self.m_wrong;
    for (const auto &[pages, kept] : self.m_kept) {
        if (kept != bytes) continue;
        char *again = pages;
        self.m_kept.erase(again);
        ++self.m_reused;
        return self.Note(again, {bytes, 0});
    }
    void *pages = MapPages(bytes);
    return pages == nullptr ? nullptr : self.Note(pages, {bytes, 0});
}

void HostMemory::ReleaseStacks(void *memory, size_t bytes, void *user) {
    HostMemory &self = *static_cast<HostMemory *>(user);
    const std::lock_guard<std::mutex> lock(self.m_mutex);
    if (!self.Forget(memory, {bytes, 0})) return;
    if (!self.reusesStacks) {
        UnmapPages(memory, bytes);
        return;
    }
    // All pages must be writable again, including former guard pages.
    for (size_t at = 0; at < bytes; at += PageBytes()) static_cast<volatile char *>(memory)[at] = 1;
    self.m_kept[static_cast<char *>(memory)] = bytes;
}

}  // namespace test
