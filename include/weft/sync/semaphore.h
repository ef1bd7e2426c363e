// A number of permits, such as how many may use something at once.
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

/// As std::counting_semaphore. While a waiter is the first in line it is overtaken by newcomers at
/// most kMaxOvertakes times, and woken in vain at most kMaxVainWakes times. Whoever acquires sees
/// what was done before the permit was released. All else as for Mutex.
class WEFT_API Semaphore {
public:
    static constexpr uint32_t kMax = internal::Permits::kMax;  ///< 16,777,215 permits
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxVainWakes = internal::Permits::kMaxVainWakes;

    /// With `permits`, 0 to kMax: more are reported (BadOption), and are kMax then.
    explicit Semaphore(TaskScheduler &scheduler, uint32_t permits = 0) noexcept;

    /// Takes a permit; waits until there is one. Any thread.
    void acquire() noexcept;
    /// False: there is none, or others have waited for it for too long. Any thread.
    bool try_acquire() noexcept;
    /// Adds permits. Any thread; never runs others. Beyond kMax is reported (BadOption).
    void release(uint32_t permits = 1) noexcept;

    /// False when the time has passed first. Any thread.
    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return AcquireUntil(internal::DeadlineAfter(duration));
    }
    template <class OtherClock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return AcquireUntil(internal::DeadlineAt(time));
    }

private:
    bool AcquireUntil(Clock::time_point deadline) noexcept;
    internal::Permits m_permits;
};

}  // namespace weft
