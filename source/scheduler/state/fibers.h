// The free fibers of a run: a flat bit set, and for each worker one slot that it looks at first.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"
#include "platform/race_finder.h"

#include <cstdint>

namespace weft::internal {

/// All calls except Acquire are thread-safe and lock-free. A fiber in a slot is free, too: every
/// worker can take it.
class FreeFibers {
public:
    static constexpr uint32_t kNone = ~0u;
    using Slot = env::Atomic<uint32_t>;

    /// All fibers are free. Returns false if there is no memory.
    bool Acquire(uint32_t fibers, Memory memory = {}) noexcept {
        if (!m_free.Acquire(fibers, memory)) return false;
        m_fibers = fibers;
        for (uint32_t i = 0; i < fibers; ++i) m_free.Set(i);
        return true;
    }

    /// Takes a free fiber, first from the worker's own slot. Returns kNone if none was free at some
    /// moment of the call. slotOf(i) returns the slot of worker i.
    template <class SlotOf>
    uint32_t Take(uint32_t worker, uint32_t workers, SlotOf slotOf) noexcept {
        if (race::kFinder) return TakeInTurn();
        uint32_t fiber = TakeFrom(slotOf(worker));
        if (fiber == kNone) fiber = m_free.ClearAny(worker * 64);
        for (uint32_t i = 0; i < workers && fiber == kNone; ++i) fiber = TakeFrom(slotOf(i));
        return fiber;
    }
    /// Frees a fiber. release, both operations: the next owner sees what was done on it.
    void Free(uint32_t fiber, Slot &slot) noexcept {
        if (race::kFinder) return m_free.Set(fiber);
        const uint32_t before = slot.exchange(fiber, kAcqRel);
        if (before != kNone) m_free.Set(before);
    }
    /// Takes this fiber if it is free and in no slot. GiveBack: frees it again. seq_cst, both.
    bool TakeAt(uint32_t fiber) noexcept { return m_free.Clear(fiber); }
    void GiveBack(uint32_t fiber) noexcept { m_free.Set(fiber); }

    /// Returns true if a fiber seems to be free. seq_cst.
    template <class SlotOf>
    bool Any(uint32_t workers, SlotOf slotOf) const noexcept {
        if (m_free.Any()) return true;
        for (uint32_t i = 0; i < workers; ++i) {
            if (slotOf(i).load(kSeqCst) != kNone) return true;
        }
        return false;
    }

    /// Returns true if the fiber is free and in no slot. False for one that is not in the pool.
    bool Has(uint32_t fiber) const noexcept { return fiber < m_fibers && m_free.Test(fiber); }

private:
    friend struct DebugLayout;

    // The race finder would find no race between two tasks that follow each other on one fiber.
    // relaxed: it only spreads the fibers.
    uint32_t TakeInTurn() noexcept {
        for (uint32_t i = 0; i < m_fibers; ++i) {
            const uint32_t fiber = m_turn.fetch_add(1, kRelaxed) % m_fibers;
            if (m_free.Clear(fiber)) return fiber;
        }
        return kNone;
    }
    static uint32_t TakeFrom(Slot &slot) noexcept {
        // relaxed: the exchange decides. acquire: pairs with Free.
        return slot.load(kRelaxed) != kNone ? slot.exchange(kNone, kAcquire) : kNone;
    }

    AtomicBitSet m_free;
    uint32_t m_fibers = 0;
    env::Atomic<uint32_t> m_turn{0};
};

}  // namespace weft::internal
