// A pool of small objects that threads of any kind take from and give back to, by index.
//
// The objects lie in segments, each as large as all before it, which are added when all are out and
// never move. Those that nobody uses are a stack, linked by index. Its head is one word: the index
// on top plus one, and above it a tag that counts the takings. So who replaces a head that it has
// read replaces it only if nothing was taken since (or 2^32 times something was), and what it read
// below the top still lies there. Lock-free, as the allocator is: a compare-and-swap fails only
// because another one succeeded; but one thread at a time adds a segment, and the others wait for
// it if they have nothing to take.
#pragma once

#include "platform/backoff.h"
#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

template <class T, uint32_t kSegments = 7, uint32_t kFirstItems = 64 /* a power of two */>
class SegmentPool {
public:
    static constexpr uint32_t kNone = ~0u;
    static constexpr uint32_t kMaxItems = kFirstItems << (kSegments - 1);

    SegmentPool() = default;
    SegmentPool(const SegmentPool &) = delete;
    SegmentPool &operator=(const SegmentPool &) = delete;
    ~SegmentPool() { Release(); }

    /// Makes the first segment, so that up to kFirstItems can be out without an allocation. False
    /// when there is no memory.
    bool Acquire(Memory memory = {}) noexcept {
        m_memory = memory;
        return AddSegment();
    }

    void Release() noexcept {
        for (uint32_t i = 0; i < kSegments; ++i) {
            // relaxed, here and below: nobody else is left
            m_memory.DeleteArray(m_segments[i].items.load(kRelaxed), SizeOf(i));
            m_memory.DeleteArray(m_segments[i].below.load(kRelaxed), SizeOf(i));
            m_segments[i].items.store(nullptr, kRelaxed);
            m_segments[i].below.store(nullptr, kRelaxed);
        }
        m_itemCount.store(0, kRelaxed);
        m_head.store(0, kRelaxed);
    }

    /// There is such an object, in use or not. acquire: pairs with AddSegment, so that At finds it.
    bool Has(uint32_t index) const noexcept { return index < m_itemCount.load(kAcquire); }

    /// For who took the index, has it from somebody who did, or has asked Has. relaxed: each of
    /// these came after AddSegment.
    T &At(uint32_t index) noexcept {
        const uint32_t segment = SegmentOf(index);
        return m_segments[segment].items.load(kRelaxed)[index - FirstOf(segment)];
    }

    /// The index of an object that nobody uses; kNone when there is no memory, or when kMaxItems
    /// are out.
    uint32_t Take() noexcept {
        uint32_t index;
        return TakeSome(&index, 1) != 0 ? index : kNone;
    }

    /// Several of them by one exchange of the head: at least one, at most `most`. Returns how many;
    /// 0 where Take returns kNone.
    uint32_t TakeSome(uint32_t *taken, uint32_t most) noexcept {
        for (Backoff backoff;;) {
            // acquire, at each success: what the last users read comes before our writes, and the
            // links from the top on are there. Every change of the head is a read-modify-write, so
            // it pairs with each PushChain before it.
            uint64_t head = m_head.load(kAcquire);
            while (TopOf(head) != 0) {
                uint32_t below;
                const uint32_t count = Follow(TopOf(head), taken, most, below);
                const uint64_t next = (head | kTopMask) + 1 + below;
                if (m_head.compare_exchange_strong(head, next, kAcquire, kAcquire)) return count;
                // What was noted is others'. If the head is empty now, nothing of it may be
                // returned.
            }
            if (m_growing.exchange(1, kAcquire) != 0) {  // pairs with the store below
                backoff.Next();
                continue;
            }
            const bool isThere = TopOf(m_head.load(kRelaxed)) != 0 || AddSegment();
            m_growing.store(0, kRelease);
            if (!isThere) return 0;
        }
    }

    void GiveBack(uint32_t index) noexcept { PushChain(index, index); }

    /// Objects that one thread gives back: one read-modify-write for up to 64 of them.
    class Returns {
    public:
        explicit Returns(SegmentPool &pool) noexcept : m_pool(pool) {}
        ~Returns() { Flush(); }
        Returns(const Returns &) = delete;
        Returns &operator=(const Returns &) = delete;

        void Add(uint32_t index) noexcept {
            // relaxed: published by PushChain.
            if (m_count == 0) {
                m_last = index;
            } else {
                m_pool.Below(index).store(m_first + 1, kRelaxed);
            }
            m_first = index;
            if (++m_count == 64) Flush();
        }

    private:
        void Flush() noexcept {
            if (m_count != 0) m_pool.PushChain(m_first, m_last);
            m_count = 0;
        }
        SegmentPool &m_pool;
        uint32_t m_first = 0, m_last = 0, m_count = 0;
    };

private:
    struct Segment {
        env::Atomic<T *> items{nullptr};
        // of each that nobody uses: the next one plus one, or 0
        env::Atomic<env::Atomic<uint32_t> *> below{nullptr};
    };
    static constexpr uint64_t kTopMask = 0xFFFFFFFF;

    static uint32_t TopOf(uint64_t head) noexcept { return static_cast<uint32_t>(head); }
    static uint32_t SegmentOf(uint32_t index) noexcept {
        return index < kFirstItems ? 0 : HighestBit(index / kFirstItems) + 1;
    }
    static uint32_t FirstOf(uint32_t segment) noexcept {
        return segment == 0 ? 0 : kFirstItems << (segment - 1);
    }
    static uint32_t SizeOf(uint32_t segment) noexcept {
        return segment == 0 ? kFirstItems : FirstOf(segment);
    }

    env::Atomic<uint32_t> &Below(uint32_t index) noexcept {
        const uint32_t segment = SegmentOf(index);
        return m_segments[segment].below.load(kRelaxed)[index - FirstOf(segment)];  // as in At
    }

    // Notes up to `most` objects from `top` on (an index plus one), and what lies below them.
    // relaxed: if something was taken since the head was read, the tag is another, the exchange
    // fails, and nothing of this is used. Until then a link may be newer than the head, and name an
    // object of a segment that this thread has not seen yet; so it is followed only after Has,
    // which pairs with AddSegment. Where it stops for that, what it has noted is right as well.
    uint32_t Follow(uint32_t top, uint32_t *taken, uint32_t most, uint32_t &below) noexcept {
        uint32_t count = 0;
        do {
            taken[count++] = top - 1;
            top = Below(top - 1).load(kRelaxed);
        } while (count < most && top != 0 && Has(top - 1));
        below = top;
        return count;
    }

    // From `first` to `last` they are linked. release: our reads of the objects come before their
    // next users' writes, and the links are there.
    void PushChain(uint32_t first, uint32_t last) noexcept {
        uint64_t head = m_head.load(kRelaxed);
        do {
            Below(last).store(TopOf(head), kRelaxed);
        } while (!m_head.compare_exchange_strong(head, (head & ~kTopMask) | (first + 1), kRelease,
                                                 kRelaxed));
    }

    // One thread at a time.
    bool AddSegment() noexcept {
        const uint32_t first = m_itemCount.load(kRelaxed);
        if (first == kMaxItems) return false;
        const uint32_t segment = SegmentOf(first);
        const uint32_t size = SizeOf(segment);
        T *items = m_memory.NewArray<T>(size);
        auto *below = m_memory.NewArray<env::Atomic<uint32_t>>(size);
        if (items == nullptr || below == nullptr) {
            m_memory.DeleteArray(items, size);
            m_memory.DeleteArray(below, size);
            return false;
        }
        // published by PushChain
        for (uint32_t i = 0; i + 1 < size; ++i) below[i].store(first + i + 2, kRelaxed);
        // published by the next, and by PushChain
        m_segments[segment].items.store(items, kRelaxed);
        m_segments[segment].below.store(below, kRelaxed);
        m_itemCount.store(first + size, kRelease);  // pairs with Has
        PushChain(first, first + size - 1);
        return true;
    }

    alignas(kLineBytes) env::Atomic<uint64_t> m_head{0};
    env::Atomic<uint32_t> m_growing{0};
    alignas(kLineBytes) Segment m_segments[kSegments];
    env::Atomic<uint32_t> m_itemCount{0};
    Memory m_memory;
};

}  // namespace weft::internal
