// Makes a thread lose its processor, for tests of platform/off_cpu.h.
#pragma once

#include "platform/compiler.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <thread>

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#endif

namespace test {

/// Returns true if this system tells when a thread was off its processor.
inline bool IsOffCpuTold() {
#if defined(WEFT_LINUX) && defined(RSEQ_SIG) && (defined(__x86_64__) || defined(__aarch64__))
    if (__rseq_size == 0) return false;
    const auto *area = reinterpret_cast<const struct rseq *>(
        static_cast<const char *>(__builtin_thread_pointer()) + __rseq_offset);
    return static_cast<int32_t>(area->cpu_id) >= 0;
#else
    return false;
#endif
}

#if defined(RSEQ_SIG)
/// Returns a value that grows by one for each nanosecond that the calling thread is off its
/// processor.
inline uint64_t NsOffCpu() {
    timespec wall{}, cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    clock_gettime(CLOCK_MONOTONIC, &wall);
    return static_cast<uint64_t>((wall.tv_sec - cpu.tv_sec) * 1000000000 + wall.tv_nsec -
                                 cpu.tv_nsec);
}
#else
inline uint64_t NsOffCpu() { return 0; }
#endif

/// Blocks the calling thread until another thread has run for `ns` nanoseconds.
inline void BlockOnce(uint64_t ns) {
    using Clock = std::chrono::steady_clock;
    std::mutex mutex;
    std::condition_variable told;
    bool waits = false, isOver = false;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread other([&] {
        const std::lock_guard<std::mutex> held(mutex);  // so the caller waits
        const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(ns);
        while (Clock::now() < end) {
        }
        isOver = waits;
        told.notify_one();
    });
    waits = true;
    told.wait(lock, [&] { return isOver; });
    lock.unlock();
    other.join();
}

/// Blocks the calling thread until the clocks of the system say that it was off its processor for
/// 20,000 ns. Returns that number. One wait is not always enough: a hypervisor may take the
/// processor away before the wait begins, and the system then counts that time as used.
inline uint64_t BlockForOthers() {
    constexpr uint64_t kNs = 20000;
    const uint64_t begin = NsOffCpu();
    do {
        BlockOnce(kNs);
    } while (IsOffCpuTold() && NsOffCpu() - begin < kNs);
    return kNs;
}

}  // namespace test
