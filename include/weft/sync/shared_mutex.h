// A mutex that many may share who only read.
//
//     struct Prices {
//         explicit Prices(weft::TaskScheduler &scheduler) : mutex(scheduler) {}
//         weft::SharedMutex mutex;
//         int prices[100] = {};
//     };
//
//     int PriceOf(Prices &all, int article) {
//         const std::shared_lock<weft::SharedMutex> lock(all.mutex);
//         return all.prices[article];
//     }
//     void SetPrice(Prices &all, int article, int price) {
//         const std::lock_guard<weft::SharedMutex> lock(all.mutex);
//         all.prices[article] = price;
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/permits.h"

namespace weft {

/// The standard's SharedTimedLockable. Up to 16,777,214 share it at once: one more is taken for a
/// writer.
///
/// At most kMaxBeforeWake newcomers go before a writer that is the first in line while others share
/// it, and as many as with a Mutex before one that has been woken and is on its way: neither
/// readers nor writers starve. Who shares it must not lock it again: with others waiting that may
/// be for ever. All else as for Mutex.
class WEFT_API SharedMutex {
public:
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxBeforeWake = internal::Permits::kMaxBeforeWake;

    explicit SharedMutex(TaskScheduler &scheduler) noexcept;

    void lock() noexcept;
    bool try_lock() noexcept;
    void unlock() noexcept;

    void lock_shared() noexcept;
    bool try_lock_shared() noexcept;
    void unlock_shared() noexcept;

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockUntil(internal::DeadlineAfter(duration));
    }
    template <class OtherClock, class Duration>
    bool try_lock_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockUntil(internal::DeadlineAt(time));
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockSharedUntil(internal::DeadlineAfter(duration));
    }
    template <class OtherClock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockSharedUntil(internal::DeadlineAt(time));
    }

private:
    bool LockUntil(Clock::time_point deadline) noexcept;
    bool LockSharedUntil(Clock::time_point deadline) noexcept;
    void Unlock(uint32_t permits, uint32_t least, const char *what) noexcept;
    internal::Permits m_permits;
};

}  // namespace weft
