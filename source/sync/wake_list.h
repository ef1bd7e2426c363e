// Waiters that are to be woken as soon as the queue's lock is free.
#pragma once

#include "weft/sync/wait_queue.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

class WakeList {
public:
    /// Under the lock.
    void Add(Waiter &waiter) noexcept {
        waiter.notified = true;
        *m_end = &waiter;
        m_end = &waiter.nextToWake;
        waiter.nextToWake = nullptr;
    }

    /// After the lock is free. In the order in which they came.
    void Wake(TaskScheduler &scheduler) noexcept;

private:
    Waiter *m_first = nullptr;
    Waiter **m_end = &m_first;
};

}  // namespace weft::internal
