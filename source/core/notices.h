// What workers look at between two pieces of work: a word for all of them that says what there may
// be somewhere.
//
// A bit is a hint that is never missing: it may be set although there is nothing, but while there
// is something it is set, or is just being set. The word is written only when the first item of a
// kind comes, and when a worker finds that there is none left; so looking costs one load of a line
// that is seldom written.
//
// No item is missed. Let P publish an item and then look at the bit (Show), and let C clear the bit
// and then look for items once more (Hide); all four are seq_cst. If P saw the bit set, its look
// came before the clearing, so its item was published before C's second look: C sees it and sets
// the bit again. If P saw the bit cleared, it sets it.
#pragma once

#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

class Notices {
public:
    static constexpr uint32_t kLargeWork = 1;  // a task that needs a Large fiber
    static constexpr uint32_t kInjected = 2;   // something in the injector
    static constexpr uint32_t kTimed = 4;      // a deadline
    static constexpr uint32_t kForValue = 8;   // somebody waits for a value of a counter above zero
    static constexpr uint32_t kGroups = 8;

    /// A High task or ready fiber that some worker of the group could take; the same, Low.
    static constexpr uint32_t HighWork(uint32_t group) noexcept { return kFirstHigh << group; }
    static constexpr uint32_t LowWork(uint32_t group) noexcept {
        return kFirstHigh << kGroups << group;
    }
    /// The same for several groups, as bits.
    static constexpr uint32_t HighWorkOf(uint32_t groups) noexcept { return kFirstHigh * groups; }
    static constexpr uint32_t LowWorkOf(uint32_t groups) noexcept {
        return (kFirstHigh << kGroups) * groups;
    }

    /// relaxed: a hint for those who work. Who is about to sleep looks at the items themselves.
    uint32_t Look() const noexcept { return m_bits.load(kRelaxed); }

    /// Like Look, for callers that must not miss a bit. Call it after publishing something that
    /// concerns the items.
    bool Has(uint32_t bits) const noexcept { return (m_bits.load(kSeqCst) & bits) != 0; }

    /// After an item was published.
    void Show(uint32_t bits) noexcept {
        if ((m_bits.load(kSeqCst) & bits) != bits) m_bits.fetch_or(bits, kSeqCst);
    }

    /// The caller has found no item. `any()` looks once more, with seq_cst loads.
    template <class Any>
    void Hide(uint32_t bits, Any any) noexcept {
        m_bits.fetch_and(~bits, kSeqCst);  // [order]
        if (any()) Show(bits);             // [re-check]
    }

private:
    static constexpr uint32_t kFirstHigh = 16;
    env::Atomic<uint32_t> m_bits{0};
};

}  // namespace weft::internal
