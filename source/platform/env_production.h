// The production environment: std::atomic, the processor's tick counter, and the operating system.
#pragma once

#include "platform/compiler.h"
#include "platform/fork_mark.h"
#include "platform/off_cpu.h"
#include "platform/parker.h"
#include "platform/signal_stack.h"
#include "platform/thread.h"
#include "platform/thread_exit.h"

#include <atomic>
#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <x86intrin.h>
#endif
#else
#include <chrono>
#endif

namespace weft::env {

template <class T>
using Atomic = std::atomic<T>;

template <class T>
using Plain = T;

/// One turn of a spin loop.
inline void Pause() noexcept {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb");
#endif
}

/// Hints that the line will be written. The processor then fetches it for writing at once, instead
/// of first for reading.
inline void PrefetchForWrite(const void *address) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    _m_prefetchw(address);
#elif defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*static_cast<const char *>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

/// A clock for durations of nanoseconds to milliseconds on one worker. Its rate is
/// TicksPerMicrosecond().
inline uint64_t Ticks() noexcept {
#if defined(__x86_64__) || defined(_M_X64)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Measured once in a process, against the steady clock. The measurement takes about 100
/// microseconds.
double TicksPerMicrosecond() noexcept;

/// The steady clock, in nanoseconds.
uint64_t Now() noexcept;

/// A pointer for each OS thread. The compiler must not cache its address, because a fiber may
/// change threads in a wait.
WEFT_NOINLINE void *ThreadSlot() noexcept;
WEFT_NOINLINE void SetThreadSlot(void *value) noexcept;

/// Another one, for calls in which the fiber does not change threads.
WEFT_NOINLINE void *CallSlot() noexcept;
WEFT_NOINLINE void *ExchangeCallSlot(void *value) noexcept;

/// A third one, for the host's memory functions (memory_hook.h).
WEFT_NOINLINE void *HookSlot() noexcept;
WEFT_NOINLINE void SetHookSlot(void *value) noexcept;

/// A number that mostly differs between threads. It spreads threads over counters.
inline uint32_t ThreadHint() noexcept {
    char here;
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&here) >> 16) * 0x9e3779b1u >> 16;
}

/// A number of the calling thread, of 24 bits. It stays the same. Two threads seldom have the same
/// one.
WEFT_NOINLINE uint32_t ThreadNumber() noexcept;

/// Writes the broken invariant to stderr and aborts. For places that know no scheduler.
[[noreturn]] void Panic(const char *invariant) noexcept;

}  // namespace weft::env
