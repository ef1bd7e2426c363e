#include "mechanisms/wait_records.h"

namespace weft::internal {

bool WaitRecords::Acquire(uint32_t fibers) noexcept {
    m_own = AllocateArray<WaitRecord>(fibers);
    m_fibers = fibers;
    return m_own != nullptr;
}

void WaitRecords::Release() noexcept {
    FreeArray(m_own, m_fibers);
    m_own = nullptr;
    for (env::Atomic<Segment *> &slot : m_segments) {
        FreeArray(slot.load(kRelaxed), 1);  // nobody else is left
        slot.store(nullptr, kRelaxed);
    }
}

uint32_t WaitRecords::TakeSpare() noexcept {
    for (uint32_t i = 0; i < kMaxSegments; ++i) {
        Segment *segment = m_segments[i].load(kAcquire);  // pairs with AddSegment
        if (segment == nullptr) {
            if (!AddSegment(i)) return kNone;
            segment = m_segments[i].load(kAcquire);
        }
        // The CAS fails only because somebody else took or gave back a record. acquire: pairs with GiveBackSpare, so
        // that what its last user read is not written over too early.
        uint64_t free = segment->free.load(kRelaxed);
        while (free != 0) {
            const uint64_t mask = free & (~free + 1);
            if (segment->free.compare_exchange_strong(free, free & ~mask, kAcquire, kRelaxed)) {
                uint32_t bit = 0;
                while ((mask >> bit) != 1) ++bit;
                return m_fibers + i * 64 + bit;
            }
        }
    }
    return kNone;
}

void WaitRecords::GiveBackSpare(uint32_t index) noexcept {
    const uint32_t spare = index - m_fibers;
    // release: our reads of the record come before its next user's writes.
    m_segments[spare / 64].load(kAcquire)->free.fetch_or(uint64_t{1} << (spare % 64), kRelease);
}

bool WaitRecords::AddSegment(uint32_t position) noexcept {
    Segment *fresh = AllocateArray<Segment>(1);
    if (fresh == nullptr) return false;
    Segment *expected = nullptr;
    // release: the segment's contents are visible to those who load it. If somebody else was faster, theirs serves.
    if (!m_segments[position].compare_exchange_strong(expected, fresh, kRelease, kRelaxed)) FreeArray(fresh, 1);
    return true;
}

}  // namespace weft::internal
