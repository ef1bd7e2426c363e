// The sleep of a Parker, with a futex.
#include "platform/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft::env {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
              "a futex must be a plain 32-bit word");

void Parker::SleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                        const uint64_t *deadline) noexcept {
    timespec time{};
    if (deadline != nullptr) {  // absolute time of CLOCK_MONOTONIC, which is the steady clock
        time.tv_sec = static_cast<time_t>(*deadline / 1'000'000'000);
        time.tv_nsec = static_cast<long>(*deadline % 1'000'000'000);
    }
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value,
            deadline != nullptr ? &time : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// If the word is gone, this wakes no thread, or another user of the address, which must expect
// wake-ups without a reason, as every user of a futex must.
void Parker::Wake(std::atomic<uint32_t> &word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace weft::env
