// The table of live schedulers.
#include "core/scheduler_tags.h"

#include "platform/backoff.h"

namespace weft::internal {

SchedulerTag::Entry SchedulerTag::s_entries[CounterWord::kMaxTag];

// relaxed: it is only a number
uint32_t NewRunNumber() noexcept {
    static env::Atomic<uint32_t> s_runs{0};
    return s_runs.fetch_add(1, kRelaxed);
}

uint32_t SchedulerTag::Acquire() noexcept {
    for (uint32_t tag = 1; tag <= CounterWord::kMaxTag; ++tag) {
        // acquire and release: what the last owner of the tag did comes before what the next owner
        // does.
        if (s_entries[tag - 1].taken.exchange(1, kAcquire) == 0) return m_tag = tag;
    }
    return 0;
}

void SchedulerTag::Publish(void *scheduler) noexcept {
    // release: all of the scheduler is visible
    if (m_tag != 0) s_entries[m_tag - 1].scheduler.store(scheduler, kSeqCst);
}

void SchedulerTag::Release() noexcept {
    if (m_tag == 0) return;
    Entry &entry = s_entries[m_tag - 1];
    entry.scheduler.store(nullptr, kSeqCst);
    for (Backoff backoff; entry.readers.load(kSeqCst) != 0; backoff.Next()) {
    }
    entry.taken.store(0, kRelease);
    m_tag = 0;
}

}  // namespace weft::internal
