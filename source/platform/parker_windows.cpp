#include "platform/parker.h"

#include "platform/env_production.h"
#include "platform/thread.h"
#include "platform/windows_api.h"

namespace weft::env {

namespace {

constexpr uint32_t kEmpty = 0;
constexpr uint32_t kParked = 1;
constexpr uint32_t kNotified = 2;

// Rounded up; at most an hour, after which the caller looks again.
DWORD MillisecondsTo(uint64_t deadline) noexcept {
    const uint64_t now = Now();
    const uint64_t left = deadline > now ? (deadline - now + 999'999) / 1'000'000 : 0;
    return static_cast<DWORD>(left < 3'600'000 ? left : 3'600'000);
}

}  // namespace

bool Parker::ParkOrGiveUp(const uint64_t *deadline) noexcept {
    static_assert(sizeof m_state == sizeof(uint32_t), "WaitOnAddress compares a plain word");
    // acquire: pairs with the exchange in Unpark. A notification that came first is used up here.
    uint32_t state = kEmpty;
    if (!m_state.compare_exchange_strong(state, kParked, std::memory_order_acquire,
                                         std::memory_order_acquire)) {
        // It was kNotified. acquire again: a second Unpark may have come since, and is used up too.
        m_state.exchange(kEmpty, std::memory_order_acquire);
        return true;
    }
    for (;;) {
        // Returns at once when the word is no longer kParked, and may return for no reason at all.
        uint32_t parked = kParked;
        WaitOnAddress(&m_state, &parked, sizeof parked,
                      deadline != nullptr ? MillisecondsTo(*deadline) : INFINITE);
        state = kNotified;
        // acquire: pairs with the exchange in Unpark. relaxed: nothing is read after a failure but
        // the word again.
        if (m_state.compare_exchange_strong(state, kEmpty, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
            return true;
        }
        if (deadline == nullptr || Now() < *deadline) continue;
        state = kParked;
        // relaxed: nobody has told anything. If somebody just has, that is used up in the next
        // turn.
        if (m_state.compare_exchange_strong(state, kEmpty, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
            return false;
        }
    }
}

void Parker::Unpark() noexcept {
    // relaxed: published, as far as it matters, by the exchange.
    m_wakersCpu.store(CurrentCpu(), std::memory_order_relaxed);
    // release: what the waker wrote is visible to the sleeper. The word may be gone once it says
    // kNotified and the sleeper has seen it; the address is a mere key then, which wakes nobody, or
    // somebody who looks again.
    if (m_state.exchange(kNotified, std::memory_order_release) == kParked)
        WakeByAddressSingle(&m_state);
}

}  // namespace weft::env
