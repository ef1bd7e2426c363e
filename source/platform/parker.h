// Puts one OS thread to sleep until it is told to go on.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::env {

/// One sleeper, any number of wakers. Unpark before Park is kept; several Unparks count as one.
class Parker {
public:
    /// Returns after an Unpark that has not been used up yet. Only the owner calls it.
    void Park() noexcept { ParkOrGiveUp(nullptr); }
    /// The same until `deadline` (nanoseconds of Now()) at most: false if there was no Unpark by
    /// then.
    bool ParkUntil(uint64_t deadline) noexcept { return ParkOrGiveUp(&deadline); }
    /// Any thread. What was written before it is visible after the Park that it ends.
    void Unpark() noexcept;
    /// The CPU that the latest Unpark came from, or -1. A hint; only the owner calls it.
    int32_t WakersCpu() const noexcept { return m_wakersCpu.load(std::memory_order_relaxed); }

private:
    bool ParkOrGiveUp(const uint64_t *deadline) noexcept;  // null: never
    std::atomic<uint32_t> m_state{0};
    std::atomic<int32_t> m_wakersCpu{-1};
};

}  // namespace weft::env
