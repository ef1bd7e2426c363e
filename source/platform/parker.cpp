// Implements parker.h on SleepWhile and Wake, which each system has in a file of its own.
#include "platform/parker.h"

#include "platform/env_production.h"
#include "platform/thread.h"

namespace weft::env {

namespace {

constexpr uint32_t kEmpty = 0;
constexpr uint32_t kParked = 1;
constexpr uint32_t kNotified = 2;

}  // namespace

bool Parker::ParkOrGiveUp(const uint64_t *deadline) noexcept {
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
        SleepWhile(m_state, kParked, deadline);
        state = kNotified;
        // relaxed: after a failure only the word itself is read again.
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
    // relaxed: the exchange publishes it
    m_wakersCpu.store(CurrentCpu(), std::memory_order_relaxed);
    // release: what the waker wrote is visible to the sleeper. Once the sleeper has seen kNotified,
    // the word may be gone. For Wake it is only an address.
    if (m_state.exchange(kNotified, std::memory_order_release) == kParked) Wake(m_state);
}

}  // namespace weft::env
