// The waiters that a notifier has notified under the lock of a queue. It wakes them when the lock
// is free.
#pragma once

#include "weft/sync/wait_queue.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

class WakeList {
public:
    /// Notifies the waiter, which wakes up in Wake. Call it under the lock.
    void Add(Waiter &waiter) noexcept {
        waiter.notified = true;
        *m_end = &waiter;
        m_end = &waiter.nextToWake;
        waiter.nextToWake = nullptr;
    }

    /// Decrements the counters of the waiters, in the order in which they were added. Call it after
    /// the lock is free.
    void Wake(TaskScheduler &scheduler) noexcept;

private:
    Waiter *m_first = nullptr;
    Waiter **m_end = &m_first;
};

}  // namespace weft::internal
