// What waits in the order of numbers: the turn in the upper half of a queue's word, and the place
// of a waiter in the list.
#pragma once

#include "weft/sync/wait_queue.h"

#include <cstdint>

namespace weft::internal {

constexpr uint32_t TurnOf(uint64_t word) noexcept { return static_cast<uint32_t>(word >> 32); }
constexpr uint64_t WithTurn(uint64_t word, uint32_t turn) noexcept {
    return (word & 0xffffffffu) | static_cast<uint64_t>(turn) << 32;
}

/// Numbers wrap around. `a` is before `b` if `b` is at most 2^31 numbers ahead of `a`.
constexpr bool IsBefore(uint32_t a, uint32_t b) noexcept { return a - b >= uint32_t{1} << 31; }

/// Inserts the waiter behind those with earlier numbers. Waiter::wanted is the number. The caller
/// holds the lock.
inline void InsertByNumber(WaitQueue &queue, Waiter &waiter) noexcept {
    const auto numberOf = [](const Waiter &its) { return static_cast<uint32_t>(its.wanted); };
    Waiter *previous = queue.Last();
    while (previous != nullptr && IsBefore(numberOf(waiter), numberOf(*previous)))
        previous = previous->previous;
    queue.InsertAfter(previous, waiter);
}

}  // namespace weft::internal
