#include "platform/fork_mark.h"

#include <sys/mman.h>
#include <unistd.h>

namespace weft::env {

void ForkMark::Acquire() noexcept {
    const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        munmap(page, bytes);
        return;
    }
    m_page = static_cast<volatile char *>(page);
    *m_page = 1;
}

void ForkMark::Release() noexcept {
    if (m_page != nullptr) munmap(const_cast<char *>(m_page), static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    m_page = nullptr;
}

}  // namespace weft::env
