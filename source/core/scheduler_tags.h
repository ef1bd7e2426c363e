// The live schedulers of this process: a small number for each, so that a counter's word can say
// whose it is, and its address, for those who must find it from anywhere (a signal handler).
//
// The only process-wide state of the library: 127 places, constant-initialised, lock-free for
// readers.
#pragma once

#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// Holds a tag from 1 to 127, or 0 when more schedulers live at once: those go without the check
/// and are not found.
class SchedulerTag {
public:
    SchedulerTag() = default;
    SchedulerTag(const SchedulerTag &) = delete;
    SchedulerTag &operator=(const SchedulerTag &) = delete;
    ~SchedulerTag() { Release(); }

    uint32_t Acquire() noexcept;
    /// `scheduler` can be found from now on, until Release, which waits for those who are looking
    /// at it.
    void Publish(void *scheduler) noexcept;
    void Release() noexcept;

    /// Calls visit(scheduler) for each published one until it returns true; or only for that with
    /// tag `only`. Async-signal-safe if `visit` is.
    template <class Visit>
    static bool Find(Visit visit, uint32_t only = 0) noexcept {
        for (Place &place : s_places) {
            if (only != 0 && &place != &s_places[only - 1]) continue;
            // Pinned first, looked at next; Release does both the other way round; seq_cst, so one
            // sees the other.
            place.readers.fetch_add(1, kSeqCst);
            void *scheduler = place.scheduler.load(kSeqCst);
            const bool found = scheduler != nullptr && visit(scheduler);
            place.readers.fetch_sub(1, kRelease);  // our reads come before its end
            if (found) return true;
        }
        return false;
    }

private:
    struct Place {
        env::Atomic<uint8_t> taken{0};
        env::Atomic<uint32_t> readers{0};
        env::Atomic<void *> scheduler{nullptr};
    };
    static Place s_places[127];
    uint32_t m_tag = 0;
};

}  // namespace weft::internal
