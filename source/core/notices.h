// A word that workers look at between two tasks. Each bit is a notice: it says that there may be
// work of a kind somewhere. The lower bits stand for levels (scheduler/state/work.h).
//
// Levels in kUnnoticed have no notice. A notice may be set although there is no item of its kind.
// But while there is an item, the notice is set, or the thread that published the item is about to
// set it. The word is written only when the first item of a kind comes, and when a worker finds no
// item left. So a check costs one load of a cache line that is seldom written.
//
// No item is missed. P publishes an item (p1), then reads the notice (p2, in Show). C clears the
// notice (c1), then checks for items once more (c2, in Hide). All four are seq_cst. If P reads the
// notice as set, p2 is before c1, so p1 is before c2: C finds the item and sets the notice again.
// If P reads it as cleared, P sets it.
#pragma once

#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// The word of notices of a scheduler. All calls are thread-safe.
class Notices {
public:
    static constexpr uint32_t kLevels = (1u << 27) - 1;  // a bit for each level
    static constexpr uint32_t kTimed = 1u << 27;         // a deadline
    static constexpr uint32_t kForValue = 1u << 28;      // a waiter for a value above zero

    /// Returns all notices. relaxed: a hint for workers that are awake. A worker that is about to
    /// park checks for the items themselves.
    uint32_t Look() const noexcept { return m_bits.load(kRelaxed); }

    /// Returns true if one of the notices is set. For callers that must not miss one: call it after
    /// publishing what concerns the items.
    bool Has(uint32_t bits) const noexcept { return (m_bits.load(kSeqCst) & bits) != 0; }

    /// Sets the notices. Call it after publishing an item.
    void Show(uint32_t bits) noexcept {
        if ((m_bits.load(kSeqCst) & bits) != bits) m_bits.fetch_or(bits, kSeqCst);
    }

    /// Clears the notices, and sets them again if any() finds an item. Call it when no item was
    /// found, or after all were taken. `any()` uses seq_cst loads.
    template <class Any>
    void Hide(uint32_t bits, Any any) noexcept {
        m_bits.fetch_and(~bits, kSeqCst);  // [order]
        if (any()) Show(bits);             // [re-check]
    }

private:
    env::Atomic<uint32_t> m_bits{0};
};

}  // namespace weft::internal
