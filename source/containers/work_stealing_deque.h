// A growing single-producer, multi-consumer deque: its owner pushes and pops at the bottom, thieves
// steal at the top.
//
// D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005, with the memory orders of N.
// M. Le, A. Pop, A. Cohen, F. Zappa Nardelli, "Correct and efficient work-stealing for weak memory
// models", PPoPP 2013, except that their two fences are seq_cst operations on the two indices here
// (see platform/env.h), and that a push publishes any number of items at once. Push (growth aside),
// pop and one steal attempt take a bounded number of steps whatever the others do: there is no loop
// in them.
//
// Why no item is lost or taken twice. Items are claimed by moving an index past them: all but the
// last by whoever moves it, the last by CAS on the top. Pop writes bottom, then reads top; steal
// reads top, then bottom; all four are seq_cst. Suppose a pop of item i saw top <= i - 1 and took
// it without CAS, and a thief also took i. The thief's CAS moved top from i, so it had read top ==
// i, which was written after the pop's read of top; hence after the pop's write of bottom = i in
// the single total order, and the thief's later read of bottom gives i or less: it found nothing.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::internal {

enum class StealResult : uint8_t { Empty, Lost /* to somebody else, who made progress */, Taken };

/// `Item` is trivially copyable, and nothing but uint64_t members.
template <class Item>
class WorkStealingDeque {
    static_assert(std::is_trivially_copyable_v<Item> && sizeof(Item) % sizeof(uint64_t) == 0,
                  "items are words");

public:
    WorkStealingDeque() = default;
    WorkStealingDeque(const WorkStealingDeque &) = delete;
    WorkStealingDeque &operator=(const WorkStealingDeque &) = delete;
    ~WorkStealingDeque() { Release(); }

    /// `capacity` is a power of two. `firstIndex` lets tests begin near a wrap of the indices; with
    /// 0 the owner may acquire while thieves are looking.
    bool Acquire(uint64_t capacity, uint64_t firstIndex = 0, Memory memory = {}) noexcept {
        m_memory = memory;
        Ring *ring = Ring::Create(memory, capacity, nullptr);
        if (ring == nullptr) return false;
        m_ring.store(ring, kRelaxed);  // each later write of bottom publishes it
        m_top.store(firstIndex, kRelaxed);
        m_bottom.store(firstIndex, kRelaxed);
        m_topSeen = firstIndex;
        return true;
    }

    /// When no thief is left.
    void Release() noexcept {
        for (Ring *ring = m_ring.load(kRelaxed); ring != nullptr;) {
            Ring *older = ring->older;
            Ring::Destroy(m_memory, ring);
            ring = older;
        }
        m_ring.store(nullptr, kRelaxed);
    }

    bool IsAcquired() const noexcept { return m_ring.load(kRelaxed) != nullptr; }

    // ---- owner
    // ----------------------------------------------------------------------------------------------------

    /// Room for `count` more items; false when there is no memory, and nothing has changed.
    bool Reserve(uint64_t count) noexcept {
        const uint64_t bottom = m_bottom.load(kRelaxed);  // only the owner writes it
        Ring *ring = m_ring.load(kRelaxed);               // likewise
        if (WEFT_LIKELY(bottom + count - m_topSeen <= ring->capacity)) return true;
        return MakeRoom(ring, bottom, count);
    }

    /// Reserve, Stage and Publish of one item; false when there is no memory, and nothing has
    /// changed.
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

    /// Writes the item that Publish(n > offset) makes visible. Reserve first.
    void Stage(uint64_t offset, const Item &item) noexcept { Staging()(offset, item); }

    /// Stage for several: what it needs is read once.
    auto Staging() noexcept {
        Ring *ring = m_ring.load(kRelaxed);  // both are the owner's own
        const uint64_t bottom = m_bottom.load(kRelaxed);
        return [slots = ring->Slots(), mask = ring->capacity - 1, bottom](
                   uint64_t offset, const Item &item) noexcept {
            Ring::Write(slots + ((bottom + offset) & mask) * kWords, item);
        };
    }

    /// Makes the staged items stealable. seq_cst: the caller looks for sleepers next, and a worker
    /// that is about to sleep announces that before its last look at this deque; one of the two
    /// sees the other. As a release it publishes items.
    void Publish(uint64_t count) noexcept {
        m_bottom.exchange(m_bottom.load(kRelaxed) + count, kSeqCst);
    }

    /// The newest item, if there is one that no thief takes first.
    bool Pop(Item &item) noexcept {
        return PopIf(item, [](const Item &) { return true; });
    }

    /// The same, if `wants(item)`; otherwise the item stays. `item` is written to in any case.
    template <class Predicate>
    bool PopIf(Item &item, Predicate wants) noexcept {
        const uint64_t bottom = m_bottom.load(kRelaxed) - 1;
        // relaxed: top only grows, so what looks empty is empty. Spares the exchange.
        if (Distance(m_top.load(kRelaxed), bottom) < 0) return false;
        // the owner wrote it: it cannot be torn, and stays as it is
        m_ring.load(kRelaxed)->Read(bottom, item);
        if (!wants(item)) return false;
        m_bottom.exchange(bottom, kSeqCst);  // see the proof above
        uint64_t top = m_top.load(kSeqCst);
        const int64_t left = Distance(top, bottom);
        if (left < 0) {
            // release: a thief that read an older top reads the ring next, and Acquire may have
            // written it after it came.
            m_bottom.store(bottom + 1, kRelease);
            return false;
        }
        if (left > 0) return true;
        // The last one: whoever moves top has it. seq_cst like the thieves' CAS, with which it
        // competes.
        const bool won = m_top.compare_exchange_strong(top, top + 1, kSeqCst, kRelaxed);
        m_bottom.store(bottom + 1, kRelease);  // likewise
        return won;
    }

    // ---- any worker
    // -----------------------------------------------------------------------------------------------

    /// One attempt at the oldest item.
    StealResult Steal(Item &item) noexcept {
        return StealIf(item, [](const Item &) { return true; });
    }

    /// The same, if `wants(item)`; otherwise Empty. An item that somebody else has taken meanwhile
    /// may be torn: wanted, it is Lost.
    template <class Predicate>
    StealResult StealIf(Item &item, Predicate wants) noexcept {
        uint64_t top = m_top.load(kSeqCst);  // before bottom: see the proof above
        // as an acquire it pairs with Publish: the items are visible
        const uint64_t bottom = m_bottom.load(kSeqCst);
        if (Distance(top, bottom) <= 0) return StealResult::Empty;
        // acquire: pairs with Grow. An older ring serves as well: the owner no longer writes to it.
        const Ring *ring = m_ring.load(kAcquire);
        ring->Read(top, item);  // may be torn if we are late; then the CAS fails
        if (!wants(item)) return StealResult::Empty;
        // seq_cst: ordered against the owner's exchange of bottom. Its release keeps the reads
        // above before it.
        return m_top.compare_exchange_strong(top, top + 1, kSeqCst, kRelaxed) ? StealResult::Taken
                                                                              : StealResult::Lost;
    }

    /// Steals until it does not lose to somebody else: false means Empty. Lock-free, as whoever
    /// wins makes progress.
    bool TakeOldest(Item &item) noexcept {
        StealResult result;
        do {
            result = Steal(item);
        } while (result == StealResult::Lost);
        return result == StealResult::Taken;
    }

    /// How many items there seem to be. seq_cst: the last look of a worker that announced that it
    /// will sleep.
    uint64_t Size() const noexcept {
        const uint64_t top = m_top.load(kSeqCst);
        const int64_t size = Distance(top, m_bottom.load(kSeqCst));
        return size > 0 ? static_cast<uint64_t>(size) : 0;
    }

    /// Index of the oldest item if there is one, and one more than that of the newest. Hints:
    /// relaxed.
    uint64_t Oldest() const noexcept { return m_top.load(kRelaxed); }
    uint64_t End() const noexcept { return m_bottom.load(kRelaxed); }

    /// Owner, or a hint for others.
    bool LooksEmpty() const noexcept {
        return Distance(m_top.load(kRelaxed), m_bottom.load(kRelaxed)) <= 0;
    }

private:
    static constexpr size_t kWords = sizeof(Item) / sizeof(uint64_t);

    struct Ring {
        uint64_t capacity;
        Ring *older;  // kept to the end: a late thief may still read it

        // Relaxed atomics: a late thief reads while the owner writes, and throws away what it has
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
        // Not loops: those cost more than what is in them. And word by word into the item itself: a
        // copy that the compiler makes with wider loads waits until the words have left the store
        // buffer.
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
                          "slots follow the head");
            void *memory = from.AllocateZeroed(Bytes(capacity), kLineBytes);
            return memory == nullptr ? nullptr : new (memory) Ring{capacity, older};
        }
        static void Destroy(Memory to, Ring *ring) noexcept {
            to.Free(ring, Bytes(ring->capacity), kLineBytes);
        }
    };

    static int64_t Distance(uint64_t from, uint64_t to) noexcept {
        return static_cast<int64_t>(to - from);
    }

    WEFT_NOINLINE bool MakeRoom(Ring *ring, uint64_t bottom, uint64_t count) noexcept {
        // acquire: pairs with the CAS of the thieves. What they have read is read before it is
        // written over.
        m_topSeen = m_top.load(kAcquire);
        if (bottom + count - m_topSeen <= ring->capacity) return true;
        return Grow(ring, bottom, bottom + count - m_topSeen);
    }

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
        // pairs with the acquire in Steal: the copied items are visible
        m_ring.store(larger, kRelease);
        return true;
    }

    // On one line, as a thief reads all of them: a look at the deque takes one line from its owner.
    alignas(kLineBytes) env::Atomic<uint64_t> m_top{0};  // thieves write it
    env::Atomic<uint64_t> m_bottom{0};                   // the owner writes these
    env::Atomic<Ring *> m_ring{nullptr};
    uint64_t m_topSeen = 0;
    Memory m_memory;
};

}  // namespace weft::internal
