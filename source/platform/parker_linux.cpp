#include "platform/parker.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::env {

namespace {

constexpr uint32_t kEmpty = 0;
constexpr uint32_t kParked = 1;
constexpr uint32_t kNotified = 2;

long Futex(std::atomic<uint32_t> *word, int operation, uint32_t value) noexcept {
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain 32-bit word");
    return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Parker::Park() noexcept {
    // acquire: pairs with the exchange in Unpark. A notification that came first is used up here.
    uint32_t state = kEmpty;
    if (!m_state.compare_exchange_strong(state, kParked, std::memory_order_acquire, std::memory_order_acquire)) {
        // It was kNotified. acquire again: a second Unpark may have come since, and is used up too.
        m_state.exchange(kEmpty, std::memory_order_acquire);
        return;
    }
    for (;;) {
        // Returns at once when the word is no longer kParked, and may return for no reason at all (EINTR).
        Futex(&m_state, FUTEX_WAIT_PRIVATE, kParked);
        state = kNotified;
        if (m_state.compare_exchange_strong(state, kEmpty, std::memory_order_acquire, std::memory_order_relaxed)) {
            return;
        }
    }
}

void Parker::Unpark() noexcept {
    m_wakersCpu.store(sched_getcpu(), std::memory_order_relaxed);  // published, as far as it matters, by the exchange
    // release: what the waker wrote is visible to the sleeper. The word may be gone once it says kNotified and the
    // sleeper has seen it; FUTEX_WAKE then wakes nobody, or somebody who tolerates it (every futex user must).
    if (m_state.exchange(kNotified, std::memory_order_release) == kParked) {
        Futex(&m_state, FUTEX_WAKE_PRIVATE, 1);
    }
}

}  // namespace weft::env
