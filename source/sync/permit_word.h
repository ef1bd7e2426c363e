// The word of Permits.
//
//     | promised : 24 | free : 24 | overtaken : 14 | waiters : 1 | locked : 1 |
//
// permits.cpp defines promised permits, which are free, too, and the weight of overtakings.
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

    /// True if a newcomer may take `n` permits.
    constexpr bool MayTake(uint32_t n) const noexcept {
        return Free() >= n && (!AnyWaits() || Overtaken() < Permits::kMaxOvertakes);
    }
    /// True if a waiter that wants `n` permits can be notified.
    constexpr bool CanNotify(uint32_t n) const noexcept { return Free() >= Promised() + n; }
    /// True if no waiter can be notified, whatever number of permits it wants.
    constexpr bool CanNotifyNobody() const noexcept { return !AnyWaits() || Free() <= Promised(); }

    constexpr PermitWord TakenByNewcomer(uint32_t n) const noexcept {
        if (!AnyWaits()) return Taken(n);
        return Taken(n).OvertakenBy(
            Promised() != 0 ? 1 : Permits::kMaxOvertakes / Permits::kMaxBeforeWake);
    }
    constexpr PermitWord Taken(uint32_t n) const noexcept {
        return {bits - (static_cast<uint64_t>(n) << kFreeShift)};
    }
    constexpr PermitWord Given(uint32_t n) const noexcept { return {bits + Of(n).bits}; }
    constexpr PermitWord WithPromise(uint32_t n) const noexcept {
        return {bits + (static_cast<uint64_t>(n) << kPromisedShift)};
    }
    constexpr PermitWord WithoutPromise(uint32_t n) const noexcept {
        return {bits - (static_cast<uint64_t>(n) << kPromisedShift)};
    }
    /// The first waiter has woken up in vain.
    constexpr PermitWord InVain() const noexcept {
        if (Overtaken() >= Permits::kMaxOvertakes) return *this;
        return OvertakenBy(Permits::kMaxOvertakes / Permits::kMaxVainWakes);
    }
    /// Another waiter has become the first.
    constexpr PermitWord NotOvertaken() const noexcept {
        return {bits & ~(uint64_t{kOvertakenMask} << kOvertakenShift)};
    }

private:
    static constexpr uint32_t kOvertakenShift = WaitQueue::kOwnBits, kFreeShift = 16,
                              kPromisedShift = 40;
    static constexpr uint32_t kOvertakenMask = (1u << 14) - 1;
    static_assert(Permits::kMaxOvertakes * 2 <= kOvertakenMask,
                  "adding kMaxOvertakes once more must not overflow");

    constexpr PermitWord OvertakenBy(uint32_t weight) const noexcept {
        return {bits + (static_cast<uint64_t>(weight) << kOvertakenShift)};
    }
};

/// The usual case, one CAS without a load before it: if nobody waits and `from` permits are free,
/// `to` permits are free afterwards. Returns false otherwise.
inline bool ChangeFree(Permits &permits, uint32_t from, uint32_t to,
                       std::memory_order order) noexcept {
    uint64_t word = PermitWord::Of(from).bits;
    return permits.Queue().Change(word, PermitWord::Of(to).bits, order);
}

}  // namespace weft::internal
