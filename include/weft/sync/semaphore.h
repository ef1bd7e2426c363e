// A semaphore for tasks and threads. It limits, for example, how many tasks use a resource at once.
//
//     weft::Semaphore downloads(scheduler, 4);   // four at once
//
//     void Download(weft::TaskScheduler *, void *file) {
//         downloads.acquire();
//         ...
//         downloads.release();
//     }
//
// A task that waits keeps its fiber. If more tasks wait than there are fibers, let each begin when
// it has a permit. It holds no fiber before that:
//
//     struct File { weft::QueuedTask place; ... };
//
//     // Download must call release
//     downloads.AddTask(file.place, {Download, &file}, &done);
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/first_of.h"
#include "weft/sync/permits.h"
#include "weft/sync/queued_task.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// A number of permits, with the interface of std::counting_semaphore.
///
/// A task or thread that acquires a permit sees everything that was written before the permit was
/// released. Waiters are woken in the order in which they came. Several that are woken at once may
/// get their permits in another order. A newcomer may take a permit before the waiters: the first
/// waiter in line is overtaken at most kMaxOvertakes times, and woken without getting a permit at
/// most kMaxVainWakes times. Once acquire has returned, the semaphore may
/// be destroyed, if no other task or thread is to use it. No call allocates. While the scheduler
/// does not run, a call that has to wait reports NotRunning and polls: it tries again and again.
class WEFT_API Semaphore {
public:
    static constexpr uint32_t kMax = internal::Permits::kMax;  ///< most permits: 16,777,215
    static constexpr uint32_t kMaxOvertakes = internal::Permits::kMaxOvertakes;
    static constexpr uint32_t kMaxVainWakes = internal::Permits::kMaxVainWakes;

    /// Makes a semaphore with `permits` permits, 0 to kMax. If there are more, reports BadOption
    /// and makes kMax. Waiters wait with `scheduler`, which must outlive the semaphore and need
    /// not run yet.
    explicit Semaphore(TaskScheduler &scheduler, uint32_t permits = 0) noexcept;

    /// Waits until a permit is free, and takes it. Thread-safe.
    void acquire() noexcept;
    /// Takes a permit if that needs no waiting. Returns false if no permit is free, or if the first
    /// waiter has been overtaken too often. Thread-safe.
    bool try_acquire() noexcept;
    /// Adds permits. Does not run other tasks. Reports BadOption if there would be more than kMax,
    /// and then has no effect. Thread-safe.
    void release(uint32_t permits = 1) noexcept;

    /// Adds a task that begins when it has a permit. The task, or later code, must call release().
    ///
    /// The task counts as pending at once: the run waits for it, and `counter`, if given, is
    /// incremented now and decremented when the task has finished. `place` must live until the task
    /// begins. The permit is handed to the task: no newcomer takes it before the task begins.
    /// Returns false, after a report, if the task was not added. Thread-safe while the scheduler
    /// runs. Does not block, unless there is no memory for a wait record: then it reports
    /// OutOfMemory, and the caller waits until a permit is free.
    bool AddTask(QueuedTask &place, Task task, Counter *counter = nullptr,
                 const TaskOptions &options = {}) noexcept;

    /// Like acquire, but returns false if the time passes before a permit is free. Thread-safe.
    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &duration) noexcept {
        return AcquireUntil({m_permits.Scheduler(), duration});
    }
    template <class OtherClock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        return AcquireUntil({m_permits.Scheduler(), time});
    }

private:
    friend struct internal::FirstOf;
    bool AcquireUntil(internal::Deadline deadline) noexcept;
    internal::Permits m_permits;
};

/// Waits until one of the semaphores has a free permit, takes it, and returns the index of that
/// semaphore. If several have one, takes it from the one with the lowest index. The other
/// semaphores do not change.
///
/// The semaphores must belong to `scheduler`, and must live until the call has returned. Returns
/// `kCount`, without a wait, after a report: BadOption (a null pointer), WrongScheduler. Takes
/// about 80 bytes of the stack for each semaphore, and does not allocate. Thread-safe.
template <size_t kCount>
uint32_t WaitForAny(TaskScheduler &scheduler, Semaphore *const (&semaphores)[kCount]) noexcept {
    internal::FirstOf::Link links[kCount];
    return internal::FirstOf::Wait(scheduler, kCount, semaphores, links, nullptr);
}
/// Like WaitForAny, but returns `kCount` if the time passes first. Thread-safe.
template <size_t kCount, class Rep, class Period>
uint32_t WaitForAnyFor(TaskScheduler &scheduler, Semaphore *const (&semaphores)[kCount],
                       const std::chrono::duration<Rep, Period> &duration) noexcept {
    internal::FirstOf::Link links[kCount];
    internal::Deadline deadline(scheduler, duration);
    return internal::FirstOf::Wait(scheduler, kCount, semaphores, links, &deadline);
}
template <size_t kCount, class OtherClock, class Duration>
uint32_t WaitForAnyUntil(TaskScheduler &scheduler, Semaphore *const (&semaphores)[kCount],
                         const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    internal::FirstOf::Link links[kCount];
    internal::Deadline deadline(scheduler, time);
    return internal::FirstOf::Wait(scheduler, kCount, semaphores, links, &deadline);
}

}  // namespace weft
