// A readers-writer mutex for tasks and threads: several readers may hold it at once.
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

/// A mutex with the standard's SharedTimedLockable interface. At most 16,777,214 readers may hold
/// it at once; one more would be taken for a writer.
///
/// Neither readers nor writers starve. While readers hold it and a writer is the first in line, at
/// most kMaxBeforeWake newcomers go before the writer. At most kMaxOvertakes newcomers go before a
/// waiter that has been woken and is on its way, as with Mutex.
///
/// Waiters are woken in the order in which they came. Several that are woken at once may get the
/// mutex in another order. A reader must not lock it again: if others wait, it may wait for ever.
/// Everything else is as for Mutex.
class WEFT_API SharedMutex {
public:
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxBeforeWake = internal::Permits::kMaxBeforeWake;

    /// Makes an unlocked mutex. Cannot fail. Waiters wait with `scheduler`, which must outlive the
    /// mutex and need not run yet.
    explicit SharedMutex(TaskScheduler &scheduler) noexcept;

    /// As for Mutex. unlock reports WrongThread if nobody holds the mutex, or if readers hold it.
    void lock() noexcept;
    bool try_lock() noexcept;
    void unlock() noexcept;

    /// The same for a reader. unlock_shared reports WrongThread if no reader holds the mutex.
    void lock_shared() noexcept;
    bool try_lock_shared() noexcept;
    void unlock_shared() noexcept;

    /// Like lock and lock_shared, but return false if the time passes first. Thread-safe.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockUntil({m_permits.Scheduler(), duration});
    }
    template <class OtherClock, class Duration>
    bool try_lock_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockUntil({m_permits.Scheduler(), time});
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockSharedUntil({m_permits.Scheduler(), duration});
    }
    template <class OtherClock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockSharedUntil({m_permits.Scheduler(), time});
    }

private:
    bool LockUntil(internal::Deadline deadline) noexcept;
    bool LockSharedUntil(internal::Deadline deadline) noexcept;
    void Unlock(uint32_t permits, uint32_t least, const char *what) noexcept;
    internal::Permits m_permits;
};

}  // namespace weft
