// Parker with a futex.
#include "platform/parker.h"

#include "platform/env_production.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft::env {

namespace {

constexpr uint32_t kEmpty = 0;
constexpr uint32_t kParked = 1;
constexpr uint32_t kNotified = 2;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
              "a futex must be a plain 32-bit word");

// Returns at once if the word has another value. May also return without a reason (EINTR).
void SleepWhile(std::atomic<uint32_t> *word, uint32_t value, const uint64_t *deadline) noexcept {
    timespec time{};
    if (deadline != nullptr) {  // absolute time of CLOCK_MONOTONIC, which is the steady clock
        time.tv_sec = static_cast<time_t>(*deadline / 1'000'000'000);
        time.tv_nsec = static_cast<long>(*deadline % 1'000'000'000);
    }
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
            deadline != nullptr ? &time : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

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
        SleepWhile(&m_state, kParked, deadline);
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
    m_wakersCpu.store(sched_getcpu(), std::memory_order_relaxed);
    // release: what the waker wrote is visible to the sleeper. Once the sleeper has seen kNotified,
    // the word may be gone. Then FUTEX_WAKE wakes no thread, or another user of the address, which
    // must expect wake-ups without a reason, as every user of a futex must.
    if (m_state.exchange(kNotified, std::memory_order_release) == kParked) {
        syscall(SYS_futex, &m_state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

}  // namespace weft::env
