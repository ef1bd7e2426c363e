// A semaphore for tasks and threads. It limits, for example, how many tasks use a resource at once.
//
//     weft::Semaphore downloads(scheduler, 4);   // four at once
//
//     void Download(weft::TaskScheduler *, void *file) {
//         downloads.acquire();
//         ...
//         downloads.release();
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/permits.h"

namespace weft {

/// A number of permits, with the interface of std::counting_semaphore.
///
/// A task or thread that acquires a permit sees everything that was written before the permit was
/// released. Waiters are woken in the order in which they came. Several that are woken at once may
/// get their permits in another order. A newcomer may take a permit before the waiters: the first
/// waiter in line is overtaken at most kMaxOvertakes times, and woken without getting a permit at
/// most kMaxVainWakes times. Everything else is as for Mutex.
class WEFT_API Semaphore {
public:
    static constexpr uint32_t kMax = internal::Permits::kMax;  ///< most permits: 16,777,215
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxVainWakes = internal::Permits::kMaxVainWakes;

    /// Makes a semaphore with `permits` permits, 0 to kMax. Reports BadOption if there are more,
    /// and then has kMax. Waiters wait with `scheduler`, which must outlive the semaphore and need
    /// not run yet.
    explicit Semaphore(TaskScheduler &scheduler, uint32_t permits = 0) noexcept;

    /// Takes a permit, and waits until there is one. Thread-safe.
    void acquire() noexcept;
    /// Takes a permit if that needs no waiting. Returns false if no permit is free, or if the first
    /// waiter has been overtaken too often. Thread-safe.
    bool try_acquire() noexcept;
    /// Adds permits. Does not run other tasks. Reports BadOption if there would be more than kMax,
    /// and then has no effect. Thread-safe.
    void release(uint32_t permits = 1) noexcept;

    /// Like acquire, but return false if the time passes first. Thread-safe.
    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return AcquireUntil(internal::DeadlineAfter(m_permits.Scheduler(), duration));
    }
    template <class OtherClock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return AcquireUntil(internal::DeadlineAt(m_permits.Scheduler(), time));
    }

private:
    bool AcquireUntil(Clock::time_point deadline) noexcept;
    internal::Permits m_permits;
};

}  // namespace weft
