// A condition variable for tasks and threads: waits until a condition holds that a mutex protects.
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

/// A condition variable with the interface of std::condition_variable_any. It works with locks of
/// weft::Mutex and of any other mutex.
///
/// Waiters are notified in the order in which they came. It may be destroyed once all waits without
/// a time-out have been notified, even if they have not returned yet. A wait with a time-out must
/// have returned. No call allocates.
///
/// While the scheduler does not run, a wait reports NotRunning and returns at once, as if it had
/// been notified. A wait for a condition polls instead, and reports once.
class WEFT_API ConditionVariable {
public:
    /// Makes a condition variable. Cannot fail. Waiters wait with `scheduler`, which must outlive
    /// the condition variable and need not run yet.
    explicit ConditionVariable(TaskScheduler &scheduler) noexcept;

    /// Wakes one waiter, or all that have begun to wait. The caller need not hold the mutex, but
    /// the condition must have been changed under the mutex. Thread-safe.
    void notify_one() noexcept;
    void notify_all() noexcept;

    /// Unlocks `lock`, waits until notified, and locks it again. With a condition, repeats that
    /// until the condition holds. The caller must hold `lock`. Thread-safe.
    template <class Lock>
    void wait(Lock &lock) noexcept {
        bool polls = false;
        WaitUntil(lock, nullptr, polls);
    }
    template <class Lock, class Condition>
    void wait(Lock &lock, Condition condition) noexcept(noexcept(condition())) {
        for (bool polls = false; !condition();) WaitUntil(lock, nullptr, polls);
    }

    /// Like wait, but returns timeout if the time passes first. `lock` is locked again in any case.
    /// Thread-safe.
    template <class Lock, class OtherClock, class Duration>
    std::cv_status wait_until(Lock &lock,
                              const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        internal::Deadline deadline(m_queue.Scheduler(), time);
        bool polls = false;
        return WaitUntil(lock, &deadline, polls) ? std::cv_status::no_timeout
                                                 : std::cv_status::timeout;
    }
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock,
                            const std::chrono::duration<Rep, Period> &duration) noexcept {
        return wait_until(lock, internal::DeadlineAfter(m_queue.Scheduler(), duration));
    }
    /// Like wait with a condition, but returns after the time has passed, too. Returns true if the
    /// condition holds. Thread-safe.
    template <class Lock, class OtherClock, class Duration, class Condition>
    bool wait_until(Lock &lock, const std::chrono::time_point<OtherClock, Duration> &time,
                    Condition condition) noexcept(noexcept(condition())) {
        internal::Deadline deadline(m_queue.Scheduler(), time);
        for (bool polls = false; !condition();) {
            if (!WaitUntil(lock, &deadline, polls)) return condition();
        }
        return true;
    }
    template <class Lock, class Rep, class Period, class Condition>
    bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &duration,
                  Condition condition) noexcept(noexcept(condition())) {
        return wait_until(lock, internal::DeadlineAfter(m_queue.Scheduler(), duration), condition);
    }

private:
    // `polls` is set if a wait of the same call was refused, and reported, before: in a hook, or
    // because the scheduler does not run. Then it polls.
    template <class Lock>
    bool WaitUntil(Lock &lock, internal::Deadline *deadline, bool &polls) noexcept {
        internal::Waiter self;
        TaskScheduler &scheduler = m_queue.Scheduler();
        const bool wasRefused = self.polls = polls;
        const bool inLine = GetInLine(self);
        lock.unlock();
        // From here on the condition variable may be gone, except for a wait with a deadline.
        if (!inLine && wasRefused) SleepFor(scheduler, std::chrono::microseconds(50));
        const bool notified = inLine ? m_queue.WaitInLine(scheduler, self, deadline)
                                     : deadline == nullptr || !deadline->HasPassed();
        polls = self.polls;
        lock.lock();
        return notified;
    }
    bool GetInLine(internal::Waiter &waiter) noexcept;
    void Notify(bool all) noexcept;

    internal::WaitQueue m_queue;
};

}  // namespace weft
