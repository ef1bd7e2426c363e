// ForkMark with a page that has the advice MADV_WIPEONFORK.
#include "platform/fork_mark.h"

#include <sys/mman.h>
#include <unistd.h>

namespace weft::env {

void ForkMark::Acquire(void *value) noexcept {
    m_value = value;
    const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        munmap(page, bytes);
        return;
    }
    m_place = static_cast<void **>(page);
    *m_place = value;
}

void ForkMark::Release() noexcept {
    if (m_place != &m_value) munmap(m_place, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    m_value = nullptr;
    m_place = &m_value;
}

}  // namespace weft::env
