// What is in the word of Permits.
//
//     | promised : 24 | free : 24 | overtaken : 14 | waiters : 1 | locked : 1 |
//
// free       permits that nobody has
// promised   how many of them the waiters want that were called and have not come yet; newcomers
// may come before them overtaken  what has been done to the first in line since it is that; at
// kMaxOvertakes newcomers wait too waiters    somebody is in line, called or not; locked: the
// line's lock
#pragma once

#include "weft/sync/permits.h"

namespace weft::internal {

struct PermitWord {
    uint64_t bits;

    static constexpr PermitWord Of(uint32_t free) noexcept {
        return {static_cast<uint64_t>(free) << kFreeShift};
    }

    constexpr bool IsLocked() const noexcept { return (bits & WaitQueue::kLocked) != 0; }
    constexpr bool AnyWaits() const noexcept { return (bits & WaitQueue::kWaiters) != 0; }
    constexpr uint32_t Overtaken() const noexcept {
        return static_cast<uint32_t>(bits >> kOvertakenShift) & kOvertakenMask;
    }
    constexpr uint32_t Free() const noexcept {
        return static_cast<uint32_t>(bits >> kFreeShift) & Permits::kMax;
    }
    constexpr uint32_t Promised() const noexcept {
        return static_cast<uint32_t>(bits >> kPromisedShift);
    }

    /// A newcomer may have `n`: there are as many, and who waits has not been overtaken too often.
    constexpr bool MayTake(uint32_t n) const noexcept {
        return Free() >= n && (!AnyWaits() || Overtaken() < Permits::kMaxOvertakes);
    }
    /// A waiter that wants `n` can be called: there are as many beside those that are promised.
    constexpr bool CanCall(uint32_t n) const noexcept { return Free() >= Promised() + n; }
    /// Whoever waits and was not called wants more than is left beside the promised ones, whatever
    /// it wants.
    constexpr bool CanCallNobody() const noexcept { return !AnyWaits() || Free() <= Promised(); }

    constexpr PermitWord TakenByNewcomer(uint32_t n) const noexcept {
        if (!AnyWaits()) return Taken(n);
        return Taken(n).OvertakenBy(
            Promised() != 0 ? 1 : Permits::kMaxOvertakes / Permits::kMaxBeforeWake);
    }
    constexpr PermitWord Taken(uint32_t n) const noexcept {
        return {bits - (static_cast<uint64_t>(n) << kFreeShift)};
    }
    constexpr PermitWord Given(uint32_t n) const noexcept {
        return {bits + (static_cast<uint64_t>(n) << kFreeShift)};
    }
    constexpr PermitWord WithPromise(uint32_t n) const noexcept {
        return {bits + (static_cast<uint64_t>(n) << kPromisedShift)};
    }
    constexpr PermitWord WithoutPromise(uint32_t n) const noexcept {
        return {bits - (static_cast<uint64_t>(n) << kPromisedShift)};
    }
    /// The first in line came in vain.
    constexpr PermitWord InVain() const noexcept {
        if (Overtaken() >= Permits::kMaxOvertakes) return *this;
        return OvertakenBy(Permits::kMaxOvertakes / Permits::kMaxVainWakes);
    }
    /// Somebody else is the first in line.
    constexpr PermitWord NotOvertaken() const noexcept {
        return {bits & ~(uint64_t{kOvertakenMask} << kOvertakenShift)};
    }

private:
    static constexpr uint32_t kOvertakenShift = WaitQueue::kOwnBits, kFreeShift = 16,
                              kPromisedShift = 40;
    static constexpr uint32_t kOvertakenMask = (1u << 14) - 1;
    static_assert(Permits::kMaxOvertakes * 2 <= kOvertakenMask,
                  "one more of any kind may come on top");

    constexpr PermitWord OvertakenBy(uint32_t weight) const noexcept {
        return {bits + (static_cast<uint64_t>(weight) << kOvertakenShift)};
    }
};

/// The usual case, in one CAS from a word that need not be read: nobody waits, and `from` permits
/// are free, then `to`.
inline bool ChangeFree(Permits &permits, uint32_t from, uint32_t to,
                       std::memory_order order) noexcept {
    uint64_t word = PermitWord::Of(from).bits;
    return permits.Queue().Change(word, PermitWord::Of(to).bits, order);
}

}  // namespace weft::internal
