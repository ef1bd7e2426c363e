// The waiters that a notifier has notified under the lock of a queue. It wakes them when the lock
// is free.
#pragma once

#include "weft/sync/wait_queue.h"

#include <new>

namespace weft::internal {

/// Prepares a waiter that was notified for the next notification. No other thread accesses the
/// counter: the last notifier has finished, and the next one has to take the lock first.
inline void PrepareNextWait(Waiter &waiter) noexcept {
    waiter.counter.~Counter();
    new (&waiter.counter) Counter(1);
    waiter.notified = false;
    // relaxed: the last notifier has finished, and the lock orders this before the next one
    waiter.wasRefused.store(false, std::memory_order_relaxed);
}

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
