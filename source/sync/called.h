// Waiters that are to be woken as soon as the queue's lock is free.
#pragma once

#include "weft/sync/wait_queue.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

class Called {
public:
    /// Under the lock.
    void Add(Waiter &waiter) noexcept {
        waiter.called = true;
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

/// Whether the caller is a task of this scheduler or a thread that is attached to it, and may be
/// called by a Called. Nobody is in one of the host's memory functions.
bool IsTaskOf(const TaskScheduler &scheduler) noexcept;

}  // namespace weft::internal
