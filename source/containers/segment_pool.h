// A pool of small objects that threads of any kind take from and give back to, by index.
//
// The objects lie in segments of 64, which are added when all are out and never move. Lock-free: a compare-and-swap on
// a segment's word of free places fails only because somebody else took or gave back.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

template <class T>
class SegmentPool {
public:
    static constexpr uint32_t kNone = ~0u;
    static constexpr uint32_t kMaxItems = 4096;

    SegmentPool() = default;
    SegmentPool(const SegmentPool &) = delete;
    SegmentPool &operator=(const SegmentPool &) = delete;
    ~SegmentPool() { Release(); }

    /// Makes the first segment, so that up to 64 can be out without an allocation. False when there is no memory.
    bool Acquire(Memory memory = {}) noexcept {
        m_memory = memory;
        return AddSegment(0);
    }

    void Release() noexcept {
        for (env::Atomic<Segment *> &slot : m_segments) {
            Segment *segment = slot.load(kRelaxed);  // nobody else is left
            if (segment == nullptr) break;           // they are added in their order
            m_memory.DeleteArray(segment, 1);
            slot.store(nullptr, kRelaxed);
        }
        m_segmentCount.store(0, kRelaxed);
        m_lastTaken.store(0, kRelaxed);
    }

    /// There is such an object, in use or not. acquire: pairs with AddSegment.
    bool Has(uint32_t index) const noexcept { return index / 64 < m_segmentCount.load(kAcquire); }

    /// acquire: pairs with AddSegment.
    T &At(uint32_t index) noexcept { return m_segments[index / 64].load(kAcquire)->items[index % 64]; }

    /// The index of an object that nobody uses; kNone when there is no memory, or when kMaxItems are out.
    uint32_t Take() noexcept {
        for (;;) {
            const uint32_t segments = m_segmentCount.load(kAcquire);  // pairs with AddSegment
            const uint32_t from = m_lastTaken.load(kRelaxed);         // a hint: full ones lie before it, mostly
            for (uint32_t i = 0; i < segments; ++i) {
                const uint32_t position = from + i < segments ? from + i : from + i - segments;
                const uint32_t index = TakeFrom(position);
                if (index == kNone) continue;
                if (position != from) m_lastTaken.store(position, kRelaxed);
                return index;
            }
            if (segments == kMaxSegments || !AddSegment(segments)) return kNone;
        }
    }

    /// release: our reads of the object come before its next user's writes.
    void GiveBack(uint32_t index) noexcept {
        m_segments[index / 64].load(kAcquire)->free.fetch_or(uint64_t{1} << (index % 64), kRelease);
    }

private:
    static constexpr uint32_t kMaxSegments = kMaxItems / 64;
    struct Segment {
        env::Atomic<uint64_t> free{~uint64_t{0}};
        T items[64];
    };

    uint32_t TakeFrom(uint32_t position) noexcept {
        Segment *segment = m_segments[position].load(kAcquire);  // pairs with AddSegment
        // acquire: pairs with GiveBack, so that what the last user read is not written over too early.
        uint64_t free = segment->free.load(kRelaxed);
        while (free != 0) {
            const uint64_t mask = free & (~free + 1);
            if (segment->free.compare_exchange_strong(free, free & ~mask, kAcquire, kRelaxed)) {
                return position * 64 + LowestBit(mask);
            }
        }
        return kNone;
    }

    bool AddSegment(uint32_t position) noexcept {
        Segment *fresh = m_memory.NewArray<Segment>(1);
        if (fresh == nullptr) return false;
        Segment *expected = nullptr;
        // release: the segment is visible to those who load it. If somebody else was faster, theirs serves.
        if (!m_segments[position].compare_exchange_strong(expected, fresh, kRelease, kRelaxed)) {
            m_memory.DeleteArray(fresh, 1);
        }
        // By whoever comes first. release: who reads the count finds the segment.
        m_segmentCount.compare_exchange_strong(position, position + 1, kRelease, kRelaxed);
        return true;
    }

    env::Atomic<Segment *> m_segments[kMaxSegments]{};
    env::Atomic<uint32_t> m_segmentCount{0};
    env::Atomic<uint32_t> m_lastTaken{0};  // in which segment
    Memory m_memory;
};

}  // namespace weft::internal
