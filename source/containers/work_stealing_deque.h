// A growing deque with one owner and many thieves. The owner pushes and pops at the bottom, thieves
// steal at the top.
//
// The algorithm: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005. The memory
// orders: N. M. Le, A. Pop, A. Cohen, F. Zappa Nardelli, "Correct and efficient work-stealing for
// weak memory models", PPoPP 2013. There are two differences. Instead of their two fences, the
// operations on the two indices are seq_cst (see platform/env.h). A push publishes any number of
// items at once. Push (apart from growth), Pop and one attempt to steal contain no loop. So they
// take a bounded number of steps, whatever the other threads do.
//
// Terms. Items have indices that only grow. `top` is the index of the oldest item. `bottom` is one
// more than the index of the newest item. The deque is empty if bottom <= top.
//
// No item is lost or taken twice. The owner takes an item by moving bottom below it, a thief by
// moving top above it with a CAS. If only one item is left, the owner takes it with a CAS on top,
// too, so the CAS decides. For the other items: Pop writes bottom, then reads top. Steal reads top,
// then bottom. All four are seq_cst. Suppose that a Pop of item i read top <= i - 1 and took i
// without a CAS, and that a thief also took i. The thief's CAS moved top from i to i + 1, so the
// thief had read top == i. This value was written after Pop had read top, and so after Pop had
// written bottom = i. So the thief, which reads bottom after top, read bottom <= i. Then the deque
// looked empty to it, and it took nothing: a contradiction.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::internal {

/// The result of one attempt to steal. Lost: another thread has taken the item.
enum class StealResult : uint8_t { Empty, Lost /* to somebody else, who made progress */, Taken };

/// `Item` is trivially copyable and consists of uint64_t members.
template <class Item>
class WorkStealingDeque {
    static_assert(std::is_trivially_copyable_v<Item> && sizeof(Item) % sizeof(uint64_t) == 0,
                  "items must consist of 64-bit words");

public:
    WorkStealingDeque() = default;
    WorkStealingDeque(const WorkStealingDeque &) = delete;
    WorkStealingDeque &operator=(const WorkStealingDeque &) = delete;
    ~WorkStealingDeque() { Release(); }

    /// `capacity` is a power of two. `firstIndex` lets tests begin near a wrap of the indices. If
    /// it is 0, the owner may call Acquire while thieves already call Steal.
    bool Acquire(uint64_t capacity, uint64_t firstIndex = 0, Memory memory = {}) noexcept {
        m_memory = memory;
        Ring *ring = Ring::Create(memory, capacity, nullptr);
        if (ring == nullptr) return false;
        m_ring.store(ring, kRelaxed);  // relaxed: each later write of bottom publishes it
        m_top.store(firstIndex, kRelaxed);
        m_bottom.store(firstIndex, kRelaxed);
        m_topSeen = firstIndex;
        return true;
    }

    /// Call it when no thief uses the deque any more.
    void Release() noexcept {
        for (Ring *ring = m_ring.load(kRelaxed); ring != nullptr;) {
            Ring *older = ring->older;
            Ring::Destroy(m_memory, ring);
            ring = older;
        }
        m_ring.store(nullptr, kRelaxed);
    }

    /// If the deque is empty, frees the rings to which it has grown. Only the owner may call it, or
    /// a thread that keeps the owner from its deque. No thief may be in a call. A thief that calls
    /// later finds nothing, and reads no ring.
    void Trim() noexcept {
        Ring *ring = m_ring.load(kRelaxed);
        if (ring == nullptr || Size() != 0) return;
        while (Ring *const older = ring->older) {
            Ring::Destroy(m_memory, ring);
            ring = older;
        }
        m_ring.store(ring, kRelease);  // as in Grow
    }

    bool IsAcquired() const noexcept { return m_ring.load(kRelaxed) != nullptr; }

    // ---- owner ----

    /// Makes room for `count` more items. Returns false if there is no memory; then nothing has
    /// changed.
    bool Reserve(uint64_t count) noexcept {
        const uint64_t bottom = m_bottom.load(kRelaxed);  // relaxed: only the owner writes it
        Ring *ring = m_ring.load(kRelaxed);               // likewise
        if (WEFT_LIKELY(bottom + count - m_topSeen <= ring->capacity)) return true;
        return MakeRoom(ring, bottom, count);
    }

    /// Does what Reserve, Stage and Publish do, for one item. Returns false if there is no memory;
    /// then nothing has changed.
    bool Push(const Item &item) noexcept {
        const uint64_t bottom = m_bottom.load(kRelaxed);  // as in Reserve
        Ring *ring = m_ring.load(kRelaxed);
        if (WEFT_UNLIKELY(bottom + 1 - m_topSeen > ring->capacity)) {
            if (!MakeRoom(ring, bottom, 1)) return false;
            ring = m_ring.load(kRelaxed);
        }
        Ring::Write(ring->Slot(bottom), item);
        m_bottom.exchange(bottom + 1, kSeqCst);  // as in Publish
        return true;
    }

    /// Writes an item that a later Publish(n), with n > offset, makes visible. Call Reserve before.
    void Stage(uint64_t offset, const Item &item) noexcept { Staging()(offset, item); }

    /// Returns a function that does what Stage does. For several items: the ring and bottom are
    /// read once.
    auto Staging() noexcept {
        Ring *ring = m_ring.load(kRelaxed);  // relaxed, both: only the owner writes them
        const uint64_t bottom = m_bottom.load(kRelaxed);
        return [slots = ring->Slots(), mask = ring->capacity - 1, bottom](
                   uint64_t offset, const Item &item) noexcept {
            Ring::Write(slots + ((bottom + offset) & mask) * kWords, item);
        };
    }

    /// Makes the staged items visible to thieves. seq_cst: the caller checks for sleepers next, and
    /// a worker that is about to sleep announces that before its last check of this deque. So one
    /// of the two sees the other. As a release it publishes the items.
    void Publish(uint64_t count) noexcept {
        m_bottom.exchange(m_bottom.load(kRelaxed) + count, kSeqCst);
    }

    /// Takes the newest item. Returns false if there is none, or if a thief takes it first.
    bool Pop(Item &item) noexcept {
        return PopIf(item, [](const Item &) { return true; });
    }

    /// Does the same if wants(item) is true; otherwise the item stays. Unless the deque is
    /// empty, `item` is overwritten in both cases.
    template <class Predicate>
    bool PopIf(Item &item, Predicate wants) noexcept {
        const uint64_t bottom = m_bottom.load(kRelaxed) - 1;
        // relaxed: top only grows, so a deque that looks empty is empty. This saves the exchange.
        uint64_t top = m_top.load(kRelaxed);
        if (Distance(top, bottom) < 0) return false;
        // only the owner writes slots: this one cannot be torn, and does not change
        m_ring.load(kRelaxed)->Read(bottom, item);
        if (!wants(item)) return false;
        // The only item is taken as thieves take theirs: this saves the exchange, too. Orders as in
        // StealIf.
        if (top == bottom) return m_top.compare_exchange_strong(top, top + 1, kSeqCst, kRelaxed);
        m_bottom.exchange(bottom, kSeqCst);  // see the proof above
        top = m_top.load(kSeqCst);
        const int64_t left = Distance(top, bottom);
        if (left < 0) {
            // release: a thief that reads this bottom reads the ring next. Acquire may have written
            // the ring after this thief began.
            m_bottom.store(bottom + 1, kRelease);
            return false;
        }
        if (left > 0) return true;
        // It has become the last item: the thread that moves top gets it. seq_cst like the thieves'
        // CAS, with which this one competes.
        const bool won = m_top.compare_exchange_strong(top, top + 1, kSeqCst, kRelaxed);
        m_bottom.store(bottom + 1, kRelease);  // likewise
        return won;
    }

    // ---- any worker ----

    /// Makes one attempt to take the oldest item.
    StealResult Steal(Item &item) noexcept {
        return StealIf(item, [](const Item &) { return true; });
    }

    /// Does the same if wants(item) is true; otherwise returns Empty. `wants` may get a torn item
    /// if another worker has taken the item meanwhile. If it accepts such an item, the result is
    /// Lost.
    template <class Predicate>
    StealResult StealIf(Item &item, Predicate wants) noexcept {
        uint64_t top = m_top.load(kSeqCst);  // before bottom: see the proof above
        // as an acquire it pairs with Publish: the items are visible
        const uint64_t bottom = m_bottom.load(kSeqCst);
        if (Distance(top, bottom) <= 0) return StealResult::Empty;
        // acquire: pairs with Grow. An older ring is fine too: the owner no longer writes to it.
        const Ring *ring = m_ring.load(kAcquire);
        ring->Read(top, item);  // may be torn if another worker was faster; then the CAS fails
        if (!wants(item)) return StealResult::Empty;
        // seq_cst: in one order with the owner's exchange of bottom. As a release it keeps the
        // reads above before it.
        return m_top.compare_exchange_strong(top, top + 1, kSeqCst, kRelaxed) ? StealResult::Taken
                                                                              : StealResult::Lost;
    }

    /// Steals until the result is not Lost. Returns false if there is nothing to take. Lock-free:
    /// if this thread loses, another one has made progress.
    bool TakeOldest(Item &item) noexcept {
        return TakeOldestIf(item, [](const Item &) { return true; });
    }
    /// The same with StealIf.
    template <class Predicate>
    bool TakeOldestIf(Item &item, Predicate wants) noexcept {
        StealResult result;
        do {
            result = StealIf(item, wants);
        } while (result == StealResult::Lost);
        return result == StealResult::Taken;
    }

    /// Returns how many items there seem to be. seq_cst: also for the last check of a worker that
    /// has announced that it sleeps.
    uint64_t Size() const noexcept {
        const uint64_t top = m_top.load(kSeqCst);
        const int64_t size = Distance(top, m_bottom.load(kSeqCst));
        return size > 0 ? static_cast<uint64_t>(size) : 0;
    }

    /// Returns true if there seems to be no item. A hint, except for the owner: relaxed.
    bool LooksEmpty() const noexcept {
        return Distance(m_top.load(kRelaxed), m_bottom.load(kRelaxed)) <= 0;
    }

    /// Returns a number that changes when an item is added or taken; a push and a pop may cancel
    /// out. relaxed: a hint.
    uint64_t Moves() const noexcept { return m_top.load(kRelaxed) + m_bottom.load(kRelaxed); }

private:
    friend struct DebugLayout;
    static constexpr size_t kWords = sizeof(Item) / sizeof(uint64_t);

    // A ring of slots. Item i lies in slot i modulo the capacity, as kWords atomic words behind the
    // header.
    struct Ring {
        uint64_t capacity;
        Ring *older;  // kept until Release: a late thief may still read it

        // Relaxed atomics: a late thief may read while the owner writes. It discards what it has
        // read.
        env::Atomic<uint64_t> *Slots() const noexcept {
            return reinterpret_cast<env::Atomic<uint64_t> *>(const_cast<Ring *>(this) + 1);
        }
        env::Atomic<uint64_t> *Slot(uint64_t index) const noexcept {
            return Slots() + (index & (capacity - 1)) * kWords;
        }
        static void Write(env::Atomic<uint64_t> *slot, const Item &item) noexcept {
            StoreWords(slot, reinterpret_cast<const uint64_t *>(&item),
                       std::make_index_sequence<kWords>());
        }
        void Read(uint64_t index, Item &item) const noexcept {
            LoadWords(Slot(index), reinterpret_cast<uint64_t *>(&item),
                      std::make_index_sequence<kWords>());
        }
        // Fold expressions, because a loop would cost more than the copy. Word by word into the
        // item itself, because a copy with wider loads would have to wait until the words have left
        // the store buffer.
        template <size_t... kIndex>
        static void StoreWords(env::Atomic<uint64_t> *slot, const uint64_t *words,
                               std::index_sequence<kIndex...>) noexcept {
            (slot[kIndex].store(words[kIndex], kRelaxed), ...);
        }
        template <size_t... kIndex>
        static void LoadWords(const env::Atomic<uint64_t> *slot, uint64_t *words,
                              std::index_sequence<kIndex...>) noexcept {
            ((words[kIndex] = slot[kIndex].load(kRelaxed)), ...);
        }
        static size_t Bytes(uint64_t capacity) noexcept {
            return sizeof(Ring) + capacity * kWords * sizeof(env::Atomic<uint64_t>);
        }
        static Ring *Create(Memory from, uint64_t capacity, Ring *older) noexcept {
            static_assert(sizeof(Ring) % alignof(env::Atomic<uint64_t>) == 0,
                          "the slots after the head must be aligned");
            void *memory = from.AllocateZeroed(Bytes(capacity), kLineBytes);
            return memory == nullptr ? nullptr : new (memory) Ring{capacity, older};
        }
        static void Destroy(Memory to, Ring *ring) noexcept {
            to.Free(ring, Bytes(ring->capacity), kLineBytes);
        }
    };

    // to - from; right also after a wrap of the indices.
    static int64_t Distance(uint64_t from, uint64_t to) noexcept {
        return static_cast<int64_t>(to - from);
    }

    // Reads top again, and grows the ring if it has no room even then.
    WEFT_NOINLINE bool MakeRoom(Ring *ring, uint64_t bottom, uint64_t count) noexcept {
        // acquire: pairs with the thieves' CAS. The thieves have read a slot before the owner
        // overwrites it.
        m_topSeen = m_top.load(kAcquire);
        if (bottom + count - m_topSeen <= ring->capacity) return true;
        return Grow(ring, bottom, bottom + count - m_topSeen);
    }

    // Copies the items to a larger ring with at least `needed` slots. The smaller ring stays
    // allocated.
    bool Grow(Ring *ring, uint64_t bottom, uint64_t needed) noexcept {
        uint64_t capacity = ring->capacity * 2;
        while (capacity < needed) capacity *= 2;
        Ring *larger = Ring::Create(m_memory, capacity, ring);
        if (larger == nullptr) return false;
        Item item;
        for (uint64_t i = m_topSeen; i != bottom; ++i) {
            ring->Read(i, item);
            Ring::Write(larger->Slot(i), item);
        }
        // release: pairs with the acquire in Steal. The copied items are visible.
        m_ring.store(larger, kRelease);
        return true;
    }

    // All on one cache line, because a thief reads all of them: a steal takes one line away from
    // the owner.
    // written by thieves, and by Pop for the last item
    alignas(kLineBytes) env::Atomic<uint64_t> m_top{0};
    env::Atomic<uint64_t> m_bottom{0};  // written by the owner, like the members below
    env::Atomic<Ring *> m_ring{nullptr};
    uint64_t m_topSeen = 0;
    Memory m_memory;
};

}  // namespace weft::internal
