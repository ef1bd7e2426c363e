// A lock that is held for a few instructions. For code that is not on the steady path of tasks.
#pragma once

#include "platform/backoff.h"
#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// A thread that finds the lock taken spins for a while. The pauses between two checks grow,
/// because each check takes the cache line away from the holder. Then the thread yields to other
/// threads.
class SpinLock {
public:
    /// Holds the lock while it lives.
    class Held {
    public:
        explicit Held(SpinLock &lock) noexcept : m_lock(lock), m_wasTaken(lock.Lock()) {}
        ~Held() { m_lock.Unlock(); }
        Held(const Held &) = delete;
        Held &operator=(const Held &) = delete;

        /// Returns true if the lock was taken when this thread first tried it.
        bool WasTaken() const noexcept { return m_wasTaken; }

    private:
        SpinLock &m_lock;
        const bool m_wasTaken;
    };

private:
    /// Returns true if the lock was taken at first.
    bool Lock() noexcept {
        bool wasTaken = false;
        Backoff more;
        // acquire: comes after what the last holder did.
        while (m_taken.exchange(true, kAcquire)) {
            wasTaken = true;
            uint32_t turns = 0;
            for (uint32_t pauses = 1; m_taken.load(kRelaxed);) {  // relaxed: the exchange decides
                if (turns >= kTurns) {
                    more.Next();
                    continue;
                }
                for (uint32_t i = 0; i < pauses; ++i) env::Pause();
                turns += pauses;
                if (pauses < kMaxPauses) pauses *= 2;
            }
        }
        return wasTaken;
    }
    /// release: comes before what the next holder does.
    void Unlock() noexcept { m_taken.store(false, kRelease); }

    // Some microseconds: longer than the lock is held by a thread that keeps its processor.
    static constexpr uint32_t kTurns = 64, kMaxPauses = 16;
    env::Atomic<bool> m_taken{false};
};

}  // namespace weft::internal
