// For a few instructions at a time, in places that are not on the steady path of tasks.
#pragma once

#include "platform/backoff.h"
#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// Whoever finds it taken turns round a while, with pauses that grow, because each look takes the
/// line from the holder, and then lets other threads run.
class SpinLock {
public:
    class Held {
    public:
        explicit Held(SpinLock &lock) noexcept : m_lock(lock), m_wasTaken(lock.Lock()) {}
        ~Held() { m_lock.Unlock(); }
        Held(const Held &) = delete;
        Held &operator=(const Held &) = delete;

        /// Whether it was found taken at first.
        bool WasTaken() const noexcept { return m_wasTaken; }

    private:
        SpinLock &m_lock;
        const bool m_wasTaken;
    };

private:
    bool Lock() noexcept {
        bool wasTaken = false;
        Backoff more;
        // acquire: after what the last holder did.
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
    /// release: before what the next holder does.
    void Unlock() noexcept { m_taken.store(false, kRelease); }

    // Some microseconds: longer than anybody holds it who has not lost the processor.
    static constexpr uint32_t kTurns = 64, kMaxPauses = 16;
    env::Atomic<bool> m_taken{false};
};

}  // namespace weft::internal
