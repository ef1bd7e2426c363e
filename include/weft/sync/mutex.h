// A mutex for tasks and threads alike: a task that waits for it gives its worker to other tasks.
//
//     struct Score {
//         explicit Score(weft::TaskScheduler &scheduler) : mutex(scheduler) {}
//         weft::Mutex mutex;
//         int points = 0;
//     };
//
//     void AddPoint(weft::TaskScheduler *, void *arg) {
//         Score &score = *static_cast<Score *>(arg);
//         const std::lock_guard<weft::Mutex> lock(score.mutex);
//         ++score.points;
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/permits.h"

namespace weft {

/// The standard's TimedLockable. Unlike std::mutex it may be held across a wait, and unlocked by
/// another thread than the one that locked it: it belongs to the task. It is not recursive.
///
/// While a waiter is the first in line it is overtaken by newcomers at most kMaxOvertakes times,
/// and woken in vain at most kMaxVainWakes times; among those who wait the order is that in which
/// they came. Whoever has locked it may destroy it after unlocking, if nobody else is to lock it.
/// No call allocates. While the scheduler does not run, whoever would have to wait is reported
/// (NotRunning) and looks again and again.
class WEFT_API Mutex {
public:
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxVainWakes = internal::Permits::kMaxVainWakes;

    /// Cannot fail. The scheduler, by which waiters wait, must outlive it, and need not run yet.
    explicit Mutex(TaskScheduler &scheduler) noexcept;

    /// Any thread, also tasks of other schedulers (whose workers then block).
    void lock() noexcept;
    /// False: somebody has it, or others have waited for it for too long. Any thread.
    bool try_lock() noexcept;
    /// By who has it; never runs others. Unlocking what nobody has is reported (WrongThread).
    void unlock() noexcept;

    /// False when the time has passed first. Any thread.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockUntil(internal::DeadlineAfter(duration));
    }
    template <class OtherClock, class Duration>
    bool try_lock_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockUntil(internal::DeadlineAt(time));
    }

private:
    bool LockUntil(Clock::time_point deadline) noexcept;
    internal::Permits m_permit;
};

}  // namespace weft
