// Puts an OS thread to sleep until another thread wakes it.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::env {

/// One thread, the owner, parks. Any number of threads unpark. An Unpark before Park is kept.
/// Several Unparks count as one.
class Parker {
public:
    /// Sleeps until there is an Unpark, and consumes it. Only the owner may call this.
    void Park() noexcept { ParkOrGiveUp(nullptr); }
    /// The same, until `deadline` at most: in nanoseconds of Now(); the greatest value means that
    /// there is none. Returns false if there was no Unpark.
    bool ParkUntil(uint64_t deadline) noexcept {
        return ParkOrGiveUp(deadline != ~uint64_t{0} ? &deadline : nullptr);
    }
    /// Wakes the owner. What was written before this call is visible after the Park that it ends.
    /// Thread-safe.
    void Unpark() noexcept;
    /// Returns the CPU that the latest Unpark came from, or -1. A hint. Only the owner may call
    /// this.
    int32_t WakersCpu() const noexcept { return m_wakersCpu.load(std::memory_order_relaxed); }

private:
    bool ParkOrGiveUp(const uint64_t *deadline) noexcept;  // null: no deadline
    // Sleeps while `word` has this value, until Wake or the deadline. May return earlier.
    static void SleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                           const uint64_t *deadline) noexcept;
    // Wakes the thread that sleeps on `word`, without reading it: it may have been freed.
    static void Wake(std::atomic<uint32_t> &word) noexcept;
    std::atomic<uint32_t> m_state{0};
    std::atomic<int32_t> m_wakersCpu{-1};
};

}  // namespace weft::env
