// Permits and a queue of waiters: the common base of Mutex, SharedMutex and Semaphore. Do not use
// it directly. source/sync/permits.cpp says how it works.
#pragma once

#include "weft/sync/wait_queue.h"

namespace weft::internal {

class WEFT_API Permits {
public:
    static constexpr uint32_t kMax = (1u << 24) - 1;
    // Limits for the time that one waiter is the first in line:
    // - kMaxOvertakes newcomers go before it while a notified waiter is on its way;
    // - kMaxBeforeWake newcomers go before it while no notified waiter is on its way;
    // - kMaxVainWakes times it is woken and does not get its permits.
    // The three share one budget: each limit is what is possible if nothing of the others happens.
    static constexpr uint32_t kMaxOvertakes = 1024, kMaxBeforeWake = 16, kMaxVainWakes = 8;

    Permits(TaskScheduler &scheduler, uint32_t free) noexcept;

    /// Takes `n` permits, 1 to kMax, and waits until that many are free. Returns false if the
    /// deadline passes first; null means no deadline.
    bool Acquire(uint32_t n, Deadline *deadline = nullptr) noexcept;
    /// Takes `n` permits if that needs no waiting. Returns false if fewer are free, or if the first
    /// waiter has been overtaken too often.
    bool TryAcquire(uint32_t n) noexcept;
    /// Gives `n` permits back. Returns false, without any effect, if fewer than `least` are free
    /// before, or if more than `most` would be free afterwards.
    bool Release(uint32_t n, uint32_t most, uint32_t least = 0) noexcept;

    /// The same three for a lock: the task that has permits is their holder until it gives them
    /// back (SchedulerOptions::lockHolders). The lock is known by the address of this object.
    bool Lock(uint32_t n, Deadline *deadline = nullptr) noexcept;
    bool TryLock(uint32_t n) noexcept;
    bool Unlock(uint32_t n, uint32_t most, uint32_t least = 0) noexcept;

    /// Waiter::wanted of a waiter that is given one permit when it is notified, and has left the
    /// list then. A FirstOf::Link is such a waiter, too.
    static constexpr uint64_t kGiven = uint64_t{1} << 62;
    /// Puts such a waiter into the list. Returns false if a permit is free. Then the waiter has got
    /// it, unless it is a Link whose wait is over.
    bool LineUp(Waiter &waiter) noexcept;
    /// Takes such a waiter out of the list. Returns false if it has been notified.
    bool Leave(Waiter &waiter) noexcept;

    TaskScheduler &Scheduler() const noexcept { return m_queue.Scheduler(); }
    WaitQueue &Queue() noexcept { return m_queue; }

private:
    bool AcquireInLine(uint32_t n, Deadline *deadline) noexcept;
    bool AcquireByPolling(uint32_t n, Deadline *deadline) noexcept;
    void UnlockAndNotify(uint64_t word) noexcept;

    WaitQueue m_queue;
};

}  // namespace weft::internal
