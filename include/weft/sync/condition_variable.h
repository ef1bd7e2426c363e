// Waiting until a condition holds that a mutex protects.
//
//     weft::Mutex mutex(scheduler);
//     weft::ConditionVariable changed(scheduler);
//     std::deque<Job> jobs;
//
//     Job Take() {
//         std::unique_lock<weft::Mutex> lock(mutex);
//         changed.wait(lock, [] { return !jobs.empty(); });
//         ...
//     }
//     void Put(Job job) {
//         { const std::lock_guard<weft::Mutex> lock(mutex); jobs.push_back(job); }
//         changed.notify_one();
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/wait_queue.h"

#include <condition_variable>

namespace weft {

/// As std::condition_variable_any, for locks of weft::Mutex or any other. Waiters are notified in
/// the order in which they came.
///
/// It may be destroyed when all who wait without a time-out were notified, though they may not have
/// returned yet; a wait with a time-out must have returned. No call allocates. While the scheduler
/// does not run, a wait is reported (NotRunning) and returns at once, as if notified; one for a
/// condition looks again and again, and is reported once.
class WEFT_API ConditionVariable {
public:
    /// Cannot fail. The scheduler, by which waiters wait, must outlive it, and need not run yet.
    explicit ConditionVariable(TaskScheduler &scheduler) noexcept;

    /// Wakes one, or all, of those who have begun to wait. Any thread, with or without the mutex;
    /// who changes the condition must have had the mutex for that.
    void notify_one() noexcept;
    void notify_all() noexcept;

    /// Unlocks, waits until notified, and locks again. Any thread that has locked it.
    template <class Lock>
    void wait(Lock &lock) noexcept {
        bool looks = false;
        WaitUntil(lock, nullptr, looks);
    }
    template <class Lock, class Condition>
    void wait(Lock &lock, Condition condition) noexcept(noexcept(condition())) {
        for (bool looks = false; !condition();) WaitUntil(lock, nullptr, looks);
    }

    /// The same with a time-out, after which it locks again, too.
    template <class Lock, class OtherClock, class Duration>
    std::cv_status wait_until(Lock &lock,
                              const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        const Clock::time_point deadline = internal::DeadlineAt(time);
        bool looks = false;
        return WaitUntil(lock, &deadline, looks) ? std::cv_status::no_timeout
                                                 : std::cv_status::timeout;
    }
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock,
                            const std::chrono::duration<Rep, Period> &duration) noexcept {
        return wait_until(lock, internal::DeadlineAfter(duration));
    }
    /// Returns whether the condition holds.
    template <class Lock, class OtherClock, class Duration, class Condition>
    bool wait_until(Lock &lock, const std::chrono::time_point<OtherClock, Duration> &time,
                    Condition condition) noexcept(noexcept(condition())) {
        const Clock::time_point deadline = internal::DeadlineAt(time);
        for (bool looks = false; !condition();) {
            if (!WaitUntil(lock, &deadline, looks)) return condition();
        }
        return true;
    }
    template <class Lock, class Rep, class Period, class Condition>
    bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration,
                  Condition condition) noexcept(noexcept(condition())) {
        return wait_until(lock, internal::DeadlineAfter(duration), condition);
    }

private:
    // `looks`: the same wait was refused before, because nothing runs.
    template <class Lock>
    bool WaitUntil(Lock &lock, const Clock::time_point *deadline, bool &looks) noexcept {
        internal::Waiter self;
        TaskScheduler &scheduler = m_queue.Scheduler();
        const bool inLine = !looks && GetInLine(self);
        lock.unlock();
        // From here on the condition variable may be gone, unless there is a deadline.
        if (looks) SleepFor(scheduler, std::chrono::microseconds(50));
        looks = !inLine;
        const bool notified = inLine ? m_queue.WaitInLine(scheduler, self, deadline)
                                     : deadline == nullptr || Now() < *deadline;
        lock.lock();
        return notified;
    }
    bool GetInLine(internal::Waiter &waiter) noexcept;
    void Notify(bool all) noexcept;

    internal::WaitQueue m_queue;
};

}  // namespace weft
