// The clock, the thread slots (POSIX) and Panic of the production environment.
#include "platform/env_production.h"

#include "platform/tick_rate.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace weft::env {

namespace {

#if !defined(_WIN32)  // on Windows: thread_slot_windows.cpp. The library has no other thread_locals
thread_local void *t_slot = nullptr;
thread_local void *t_callSlot = nullptr;
thread_local void *t_hookSlot = nullptr;
#endif

}  // namespace

double TicksPerMicrosecond() noexcept {
    static const double rate = MeasureTickRate(Ticks, Now, 100'000);
    return rate;
}

uint64_t Now() noexcept {
    using std::chrono::nanoseconds;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(now).count());
}

#if !defined(_WIN32)

// Not inlined, and opaque to the optimiser. A caller that kept the address of t_slot across a
// switch would read the slot of the thread that it has left.
WEFT_NOINLINE void *ThreadSlot() noexcept {
    void *value = t_slot;
#if defined(__GNUC__)
    __asm__ __volatile__("" : "+r"(value) : : "memory");
#endif
    return value;
}

WEFT_NOINLINE void SetThreadSlot(void *value) noexcept {
#if defined(__GNUC__)
    __asm__ __volatile__("" : "+r"(value) : : "memory");
#endif
    t_slot = value;
}

WEFT_NOINLINE void *CallSlot() noexcept { return t_callSlot; }

WEFT_NOINLINE void *ExchangeCallSlot(void *value) noexcept {
    void *const former = t_callSlot;
    t_callSlot = value;
    return former;
}

WEFT_NOINLINE void *HookSlot() noexcept { return t_hookSlot; }

// Each thread has its own t_slot.
WEFT_NOINLINE uint32_t ThreadNumber() noexcept {
    const uint64_t address = reinterpret_cast<uintptr_t>(&t_slot);
    return static_cast<uint32_t>(address * 0x9e3779b97f4a7c15u >> 40);
}

WEFT_NOINLINE void SetHookSlot(void *value) noexcept { t_hookSlot = value; }

#endif

void Panic(const char *invariant) noexcept {
    std::fprintf(stderr, "weft: fatal: broken invariant: %s\n", invariant);
    std::abort();
}

}  // namespace weft::env
