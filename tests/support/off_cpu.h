// Makes a thread lose its processor, for tests of platform/off_cpu.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
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
#if defined(RSEQ_SIG) && (defined(__x86_64__) || defined(__aarch64__))
    if (__rseq_size == 0) return false;
    const auto *area = reinterpret_cast<const struct rseq *>(
        static_cast<const char *>(__builtin_thread_pointer()) + __rseq_offset);
    return static_cast<int32_t>(area->cpu_id) >= 0;
#else
    return false;
#endif
}

/// Blocks the calling thread until another thread has run for a while. Returns for how many
/// nanoseconds the caller was off its processor at least.
inline uint64_t BlockForOthers() {
    using Clock = std::chrono::steady_clock;
    constexpr uint64_t kNs = 20000;
    std::mutex mutex;
    std::condition_variable told;
    bool waits = false, isOver = false;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread other([&] {
        const std::lock_guard<std::mutex> held(mutex);  // so the caller waits
        const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(kNs);
        while (Clock::now() < end) {
        }
        isOver = waits;
        told.notify_one();
    });
    waits = true;
    told.wait(lock, [&] { return isOver; });
    lock.unlock();
    other.join();
    return kNs;
}

}  // namespace test
