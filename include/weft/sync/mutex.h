// A mutex for tasks and threads. While a task waits for it, its worker runs other tasks.
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

/// A mutex with the standard's TimedLockable interface. It is not recursive.
///
/// It belongs to the task and not to the thread. So it may be held across a wait, and another
/// thread may unlock it.
///
/// Waiters get the mutex in the order in which they came. A newcomer may lock it before them: the
/// first waiter in line is overtaken at most kMaxOvertakes times, and woken without getting the
/// mutex at most kMaxVainWakes times.
///
/// A holder may destroy the mutex after it has unlocked it, if no other task or thread is to lock
/// it. The unlock of an earlier holder need not have returned yet. No call allocates. While the
/// scheduler does not run, a call that has to wait reports NotRunning and polls.
class WEFT_API Mutex {
public:
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxVainWakes = internal::Permits::kMaxVainWakes;

    /// Makes an unlocked mutex. Cannot fail. Waiters wait with `scheduler`, which must outlive the
    /// mutex and need not run yet.
    explicit Mutex(TaskScheduler &scheduler) noexcept;

    /// Locks the mutex, and waits until that is possible. Thread-safe. A task of another scheduler
    /// may call it, too, and blocks its worker.
    void lock() noexcept;
    /// Locks the mutex if that needs no waiting. Returns false if it is locked, or if the first
    /// waiter has been overtaken too often. Thread-safe.
    bool try_lock() noexcept;
    /// Unlocks the mutex, once after each lock, for its holder. Does not run other tasks. Reports
    /// WrongThread if the mutex is not locked, and then has no effect.
    void unlock() noexcept;

    /// Like lock, but return false if the time passes first. Thread-safe.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return LockUntil({m_permit.Scheduler(), duration});
    }
    template <class OtherClock, class Duration>
    bool try_lock_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return LockUntil({m_permit.Scheduler(), time});
    }

private:
    bool LockUntil(internal::Deadline deadline) noexcept;
    internal::Permits m_permit;
};

}  // namespace weft
