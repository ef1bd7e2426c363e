// A number of permits, and those who wait for some, in order: what Mutex, SharedMutex and Semaphore
// are. Not for use by itself; source/sync/permits.cpp says how it works.
#pragma once

#include "weft/sync/wait_queue.h"

namespace weft::internal {

class WEFT_API Permits {
public:
    static constexpr uint32_t kMax = (1u << 24) - 1;
    // How often newcomers go before the first in line while somebody who was called is on its way,
    // and while nobody is; and how often it comes in vain. Each is what there may be of it if there
    // is nothing of the others.
    static constexpr uint32_t kMaxOvertakes = 1024, kMaxBeforeWake = 16, kMaxVainWakes = 8;

    Permits(TaskScheduler &scheduler, uint32_t free) noexcept;

    /// Takes `n` permits, 1 to kMax. Waits until there are as many; false: the deadline has passed
    /// first (null: none).
    bool Acquire(uint32_t n, const Clock::time_point *deadline = nullptr) noexcept;
    /// False: there are not as many, or it is those who wait whose turn it is.
    bool TryAcquire(uint32_t n) noexcept;
    /// Gives `n` back; at least `least` must be free before, and not more than `most` then. False
    /// if not: nothing has happened.
    bool Release(uint32_t n, uint32_t most, uint32_t least = 0) noexcept;

    TaskScheduler &Scheduler() const noexcept { return m_queue.Scheduler(); }
    WaitQueue &Queue() noexcept { return m_queue; }

private:
    bool AcquireInLine(uint32_t n, const Clock::time_point *deadline) noexcept;
    bool AcquireByLooking(uint32_t n, const Clock::time_point *deadline) noexcept;
    void UnlockAndCall(uint64_t word) noexcept;

    WaitQueue m_queue;
};

}  // namespace weft::internal
