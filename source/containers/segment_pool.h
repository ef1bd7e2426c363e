// A pool of small objects. Any thread may take an object and give it back. Objects are named by
// index.
//
// The objects lie in segments, which never move. Each new segment is as large as all segments
// before it. One is added when no unused object is left. The unused objects form a stack, linked by
// index. One word is the head of this stack: the index of the top object plus one, and above it a
// tag that counts the takes. So a CAS of the head succeeds only if no object was taken since the
// head was read (or exactly 2^32 takes came in between). Then the objects that were read below the
// top still lie there.
//
// Lock-free if the allocator is: a CAS fails only if another one succeeded. The exception: one
// thread at a time adds a segment, and threads that find no unused object wait for it.
#pragma once

#include "platform/backoff.h"
#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

/// The part of a SegmentPool that does not depend on the type of its objects, so that a program has
/// it once.
class SegmentPoolBase {
public:
    static constexpr uint32_t kNone = ~0u;

    SegmentPoolBase(const SegmentPoolBase &) = delete;
    SegmentPoolBase &operator=(const SegmentPoolBase &) = delete;
    ~SegmentPoolBase() { Release(); }

    /// Makes the first segment, and more until there are `items` objects (at most kMaxItems). So
    /// many can be taken without an allocation. Returns false if there is no memory.
    bool Acquire(Memory memory = {}, uint32_t items = 1) noexcept {
        m_memory = memory;
        do {
            if (!AddSegment()) return false;
        } while (m_itemCount.load(kRelaxed) < items);  // relaxed: no other thread uses the pool yet
        return true;
    }

    void Release() noexcept {
        for (uint32_t i = 0; i < m_kind.segments; ++i) {
            // relaxed, here and below: no other thread uses the pool any more
            m_kind.destroy(m_memory, m_segments[i].items.load(kRelaxed), SizeOf(i));
            m_memory.DeleteArray(m_segments[i].below.load(kRelaxed), SizeOf(i));
            m_segments[i].items.store(nullptr, kRelaxed);
            m_segments[i].below.store(nullptr, kRelaxed);
        }
        m_itemCount.store(0, kRelaxed);
        m_head.store(0, kRelaxed);
    }

    /// Returns true if an object with this index exists, in use or not. acquire: pairs with
    /// AddSegment, so that At finds the object.
    bool Has(uint32_t index) const noexcept { return index < m_itemCount.load(kAcquire); }

    /// Returns true if the address is that of an object of the pool, or of a part of one. acquire:
    /// pairs with AddSegment.
    bool Contains(const void *address) const noexcept {
        const auto at = reinterpret_cast<uintptr_t>(address);
        for (uint32_t i = 0; i < m_kind.segments; ++i) {
            const auto first = reinterpret_cast<uintptr_t>(m_segments[i].items.load(kAcquire));
            if (first != 0 && at - first < SizeOf(i) * m_kind.itemBytes) return true;
        }
        return false;
    }

    /// Takes an unused object and returns its index. Returns kNone if there is no memory, or if
    /// kMaxItems objects are in use.
    uint32_t Take() noexcept {
        uint32_t index;
        return TakeSome(&index, 1) != 0 ? index : kNone;
    }

    /// Takes up to `most` objects with one exchange of the head. Returns how many. That is at least
    /// one, but 0 in the cases in which Take returns kNone.
    WEFT_NOINLINE uint32_t TakeSome(uint32_t *taken, uint32_t most) noexcept {
        for (Backoff backoff;;) {
            // acquire, at each success: what the last users read comes before our writes, and the
            // links from the top on are visible. Every change of the head is a read-modify-write,
            // so this pairs with each PushChain before it.
            uint64_t head = m_head.load(kAcquire);
            while (TopOf(head) != 0) {
                uint32_t below;
                const uint32_t count = Follow(TopOf(head), taken, most, below);
                const uint64_t next = (head | kTopMask) + 1 + below;
                if (m_head.compare_exchange_strong(head, next, kAcquire, kAcquire)) return count;
                // The head has changed, so the objects in `taken` may be in use by others. Fill
                // `taken` again, or add a segment if the stack is empty now.
            }
            if (m_growing.exchange(1, kAcquire) != 0) {  // acquire: pairs with the store below
                backoff.Next();
                continue;
            }
            const bool isThere = TopOf(m_head.load(kRelaxed)) != 0 || AddSegment();
            m_growing.store(0, kRelease);
            if (!isThere) return 0;
        }
    }

    /// Frees each segment that lies behind the first `kept` objects and has no object in use.
    /// Threads that find no unused object wait meanwhile. Do not call it if anyone calls At for an
    /// object that may be unused.
    void Trim(uint32_t kept) noexcept {
        for (Backoff backoff; m_growing.exchange(1, kAcquire) != 0; backoff.Next()) {
        }
        // Takes all unused objects. acquire: as in TakeSome. A CAS that fails only reads the head.
        uint64_t head = m_head.load(kRelaxed);
        while (!m_head.compare_exchange_strong(head, (head | kTopMask) + 1, kAcquire, kRelaxed)) {
        }
        // relaxed, to the end: this thread owns the objects. Returns publishes those that stay.
        const auto below = [&](uint32_t top) { return Below(top - 1).load(kRelaxed); };
        uint32_t unused[kMostSegments] = {};
        for (uint32_t top = TopOf(head); top != 0; top = below(top)) ++unused[SegmentOf(top - 1)];
        for (uint32_t i = 0; i < m_kind.segments; ++i) {
            // The links stay, because another thread may read them (Follow).
            if (FirstOf(i) >= kept && unused[i] == SizeOf(i))
                m_kind.destroy(m_memory, m_segments[i].items.exchange(nullptr, kRelaxed),
                               SizeOf(i));
        }
        {
            Returns rest(*this);
            for (uint32_t top = TopOf(head); top != 0;) {
                const uint32_t index = top - 1;
                top = below(top);
                if (m_segments[SegmentOf(index)].items.load(kRelaxed) != nullptr) rest.Add(index);
            }
        }
        m_growing.store(0, kRelease);
    }

    /// Gives back an object that was taken.
    void GiveBack(uint32_t index) noexcept { PushChain(index, index); }

    /// Gives back several objects of one thread, up to kMost with one read-modify-write.
    class Returns {
    public:
        static constexpr uint32_t kMost = 64;

        explicit Returns(SegmentPoolBase &pool) noexcept : m_pool(pool) {}
        ~Returns() { Flush(); }
        Returns(const Returns &) = delete;
        Returns &operator=(const Returns &) = delete;

        void Add(uint32_t index) noexcept {
            // relaxed: PushChain publishes it.
            if (m_count == 0) {
                m_last = index;
            } else {
                m_pool.Below(index).store(m_first + 1, kRelaxed);
            }
            m_first = index;
            if (++m_count == kMost) Flush();
        }

    private:
        void Flush() noexcept {
            if (m_count != 0) m_pool.PushChain(m_first, m_last);
            m_count = 0;
        }
        SegmentPoolBase &m_pool;
        uint32_t m_first = 0, m_last = 0, m_count = 0;
    };

protected:
    friend struct DebugLayout;
    static constexpr uint32_t kMostSegments = 20;
    struct Kind {
        void *(*make)(const Memory &memory, uint32_t items) noexcept;
        void (*destroy)(const Memory &memory, void *items, uint32_t count) noexcept;
        size_t itemBytes;
        uint32_t segments;
        uint32_t firstItems;  // a power of two
    };
    struct Segment {
        env::Atomic<void *> items{nullptr};
        // for each unused object: index of the object below it in the stack, plus one; 0: none
        env::Atomic<env::Atomic<uint32_t> *> below{nullptr};
    };
    explicit SegmentPoolBase(const Kind &kind) noexcept
        : m_kind(kind), m_shift(HighestBit(kind.firstItems)) {}

    alignas(kLineBytes) Segment m_segments[kMostSegments];

private:
    static constexpr uint64_t kTopMask = 0xFFFFFFFF;

    static uint32_t TopOf(uint64_t head) noexcept { return static_cast<uint32_t>(head); }
    // The segment of an object, the index of a segment's first object, and the size of a segment.
    uint32_t SegmentOf(uint32_t index) const noexcept {
        const uint32_t above = index >> m_shift;
        return above == 0 ? 0 : HighestBit(above) + 1;
    }
    uint32_t FirstOf(uint32_t segment) const noexcept {
        return segment == 0 ? 0 : 1u << (m_shift + segment - 1);
    }
    uint32_t SizeOf(uint32_t segment) const noexcept {
        return segment == 0 ? 1u << m_shift : FirstOf(segment);
    }

    // The link of an object: see Segment::below.
    env::Atomic<uint32_t> &Below(uint32_t index) noexcept {
        const uint32_t segment = SegmentOf(index);
        return m_segments[segment].below.load(kRelaxed)[index - FirstOf(segment)];  // as in At
    }

    // Notes up to `most` objects from `top` on (an index plus one), and the object below them.
    // relaxed: if an object was taken since the head was read, the tag differs, the CAS fails, and
    // the notes are not used. Until then a link may be newer than the head, and name an object in a
    // segment that this thread does not see yet. So a link is followed only after Has, which pairs
    // with AddSegment. If Has returns false, the notes so far are still right.
    uint32_t Follow(uint32_t top, uint32_t *taken, uint32_t most, uint32_t &below) noexcept {
        uint32_t count = 0;
        do {
            taken[count++] = top - 1;
            top = Below(top - 1).load(kRelaxed);
        } while (count < most && top != 0 && Has(top - 1));
        below = top;
        return count;
    }

    // Pushes the objects from `first` to `last`, which are linked. release: our reads of the
    // objects come before the next users' writes, and the links are visible.
    void PushChain(uint32_t first, uint32_t last) noexcept {
        uint64_t head = m_head.load(kRelaxed);
        do {
            Below(last).store(TopOf(head), kRelaxed);
        } while (!m_head.compare_exchange_strong(head, (head & ~kTopMask) | (first + 1), kRelease,
                                                 kRelaxed));
    }

    // Only one thread at a time may call this.
    bool AddSegment() noexcept {
        const uint32_t count = m_itemCount.load(kRelaxed);
        uint32_t segment = 0;  // the first one without objects
        while (segment < m_kind.segments && m_segments[segment].items.load(kRelaxed) != nullptr)
            ++segment;
        if (segment == m_kind.segments) return false;
        const uint32_t first = FirstOf(segment), size = SizeOf(segment);
        void *const items = m_kind.make(m_memory, size);
        auto *below = m_segments[segment].below.load(kRelaxed);  // after Trim the links are there
        const bool isNew = below == nullptr;
        if (isNew) below = m_memory.NewArray<env::Atomic<uint32_t>>(size);
        if (items == nullptr || below == nullptr) {
            m_kind.destroy(m_memory, items, size);
            if (isNew) m_memory.DeleteArray(below, size);
            return false;
        }
        // relaxed: published by PushChain
        for (uint32_t i = 0; i + 1 < size; ++i) below[i].store(first + i + 2, kRelaxed);
        // relaxed, both: published by the store of m_itemCount, and by PushChain
        m_segments[segment].items.store(items, kRelaxed);
        m_segments[segment].below.store(below, kRelaxed);
        // release: pairs with Has
        if (first == count) m_itemCount.store(first + size, kRelease);
        PushChain(first, first + size - 1);
        return true;
    }

    const Kind &m_kind;
    const uint32_t m_shift;  // the first segment has 1 << m_shift objects
    env::Atomic<uint32_t> m_itemCount{0};
    Memory m_memory;
    alignas(kLineBytes) env::Atomic<uint64_t> m_head{0};
    env::Atomic<uint32_t> m_growing{0};
};

/// A pool of objects with indices, in up to kSegments segments. The first segment has kFirstItems
/// objects. All calls except Acquire and Release are thread-safe.
template <class T, uint32_t kSegments = 7, uint32_t kFirstItems = 64 /* a power of two */>
class SegmentPool : public SegmentPoolBase {
    static_assert(kSegments <= kMostSegments && (kFirstItems & (kFirstItems - 1)) == 0);

public:
    static constexpr uint32_t kMaxItems = kFirstItems << (kSegments - 1);

    SegmentPool() noexcept : SegmentPoolBase(kKind) {}

    /// Returns the object. The caller has taken the index, has got it from a thread that has taken
    /// it, or has called Has. relaxed: each of these comes after AddSegment.
    T &At(uint32_t index) noexcept {
        // as SegmentOf and FirstOf, with constants
        const uint32_t segment = index < kFirstItems ? 0 : HighestBit(index / kFirstItems) + 1;
        const uint32_t first = segment == 0 ? 0 : kFirstItems << (segment - 1);
        return static_cast<T *>(m_segments[segment].items.load(kRelaxed))[index - first];
    }

private:
    static void *Make(const Memory &memory, uint32_t items) noexcept {
        return memory.NewArray<T>(items);
    }
    static void Destroy(const Memory &memory, void *items, uint32_t count) noexcept {
        memory.DeleteArray(static_cast<T *>(items), count);
    }
    static constexpr Kind kKind{Make, Destroy, sizeof(T), kSegments, kFirstItems};
};

}  // namespace weft::internal
