// Parker with WaitOnAddress.
#include "platform/parker.h"

#include "platform/env_production.h"
#include "platform/thread.h"
#include "platform/windows_api.h"

namespace weft::env {

namespace {

constexpr uint32_t kEmpty = 0;
constexpr uint32_t kParked = 1;
constexpr uint32_t kNotified = 2;

// Rounded up, and at most an hour. The caller checks the time again.
DWORD MillisecondsTo(uint64_t deadline) noexcept {
    const uint64_t now = Now();
    const uint64_t left = deadline > now ? (deadline - now + 999'999) / 1'000'000 : 0;
    return static_cast<DWORD>(left < 3'600'000 ? left : 3'600'000);
}

}  // namespace

bool Parker::ParkOrGiveUp(const uint64_t *deadline) noexcept {
    static_assert(sizeof m_state == sizeof(uint32_t), "WaitOnAddress needs a plain 32-bit word");
    // acquire: pairs with the exchange in Unpark. An Unpark that came first is consumed here.
    uint32_t state = kEmpty;
    if (!m_state.compare_exchange_strong(state, kParked, std::memory_order_acquire,
                                         std::memory_order_acquire)) {
        // The state was kNotified. acquire again: another Unpark may have come since. It is
        // consumed, too.
        m_state.exchange(kEmpty, std::memory_order_acquire);
        return true;
    }
    for (;;) {
        // Returns at once if the word is not kParked. May also return without a reason.
        uint32_t parked = kParked;
        WaitOnAddress(&m_state, &parked, sizeof parked,
                      deadline != nullptr ? MillisecondsTo(*deadline) : INFINITE);
        state = kNotified;
        // acquire: pairs with the exchange in Unpark. relaxed: after a failure only the word itself
        // is read again.
        if (m_state.compare_exchange_strong(state, kEmpty, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
            return true;
        }
        if (deadline == nullptr || Now() < *deadline) continue;
        state = kParked;
        // relaxed: there was no Unpark. If one has come just now, this fails, and the next turn
        // consumes it.
        if (m_state.compare_exchange_strong(state, kEmpty, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
            return false;
        }
    }
}

void Parker::Unpark() noexcept {
    // relaxed: the exchange publishes it.
    m_wakersCpu.store(CurrentCpu(), std::memory_order_relaxed);
    // release: what the waker wrote is visible to the sleeper. Once the sleeper has seen kNotified,
    // the word may be gone. Then the address is only a key: the call wakes no thread, or another
    // user of the address, which checks its word again.
    if (m_state.exchange(kNotified, std::memory_order_release) == kParked)
        WakeByAddressSingle(&m_state);
}

}  // namespace weft::env
