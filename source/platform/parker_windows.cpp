// The sleep of a Parker, with WaitOnAddress.
#include "platform/parker.h"

#include "platform/env_production.h"
#include "platform/windows_api.h"

namespace weft::env {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
              "WaitOnAddress needs a plain 32-bit word");

namespace {

// Rounded up, and at most an hour. The caller checks the time again.
DWORD MillisecondsTo(uint64_t deadline) noexcept {
    const uint64_t now = Now();
    const uint64_t left = deadline > now ? (deadline - now + 999'999) / 1'000'000 : 0;
    return static_cast<DWORD>(left < 3'600'000 ? left : 3'600'000);
}

}  // namespace

void Parker::SleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                        const uint64_t *deadline) noexcept {
    WaitOnAddress(&word, &value, sizeof value,
                  deadline != nullptr ? MillisecondsTo(*deadline) : INFINITE);
}

// If the word is gone, this wakes no thread, or another user of the address, which checks its word
// again.
void Parker::Wake(std::atomic<uint32_t> &word) noexcept { WakeByAddressSingle(&word); }

}  // namespace weft::env
