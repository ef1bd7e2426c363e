#include "mechanisms/scheduler_tags.h"

namespace weft::internal {

namespace {

std::atomic<uint8_t> s_taken[128];  // index 0 is never given out

}  // namespace

uint32_t SchedulerTag::Acquire() noexcept {
    for (uint32_t tag = 1; tag < 128; ++tag) {
        // acquire and release: a tag's next owner comes after everything that its last owner did.
        if (s_taken[tag].exchange(1, kAcquire) == 0) return m_tag = tag;
    }
    return 0;
}

void SchedulerTag::Release() noexcept {
    if (m_tag != 0) s_taken[m_tag].store(0, kRelease);
    m_tag = 0;
}

}  // namespace weft::internal
