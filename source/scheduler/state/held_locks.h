// The locks that a task holds (SchedulerOptions::lockHolders), for reports and weft/inspect.h.
//
// A lock is stored by its address. Other threads only compare the address, because the lock may
// have been destroyed. All accesses are relaxed. Before it sleeps, a worker makes a
// read-modify-write in IdleSet, and AllAsleep reads that (acquire). So if all sleep, the reader
// sees all that they wrote.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::internal {

/// The number of runs in this process that remember the holders of locks. relaxed: such a run takes
/// note only of what happens after its begin on its own threads.
inline std::atomic<uint32_t> watchedRuns{0};
/// A quick check for locks, which do not know their scheduler's state.
inline bool AnyLocksWatched() noexcept { return watchedRuns.load(std::memory_order_relaxed) != 0; }

/// The locks that the task of a fiber holds, and the one that it waits for. Others than the fiber
/// may remove a lock, because another task may unlock it.
class HeldLocks {
public:
    static constexpr uint32_t kMax = 8;  // more are not remembered

    void Add(const void *lock) noexcept { Replace(nullptr, lock); }
    /// Removes the lock once. Returns false if it is not there.
    bool Remove(const void *lock) noexcept { return Replace(lock, nullptr); }
    /// Calls tell(lock) for each.
    template <class Tell>
    void ForEach(Tell tell) const noexcept {
        for (const std::atomic<const void *> &lock : m_locks) {
            const void *held = lock.load(std::memory_order_relaxed);
            if (held != nullptr) tell(held);
        }
    }

    std::atomic<const void *> awaited{nullptr};

private:
    friend struct DebugLayout;
    bool Replace(const void *from, const void *to) noexcept {
        for (std::atomic<const void *> &lock : m_locks) {
            const void *expected = from;
            if (lock.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return true;
        }
        return false;
    }

    std::atomic<const void *> m_locks[kMax]{};
};

}  // namespace weft::internal
