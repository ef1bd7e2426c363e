// A table of the live schedulers of this process. It gives each scheduler a small number, its tag,
// so that a counter's word can name its scheduler. It also keeps the scheduler's address, so that
// code without a context, such as a signal handler, can find it; so can a debugger
// (scheduler/state/debug_root.h).
//
// This and the number of the latest run are the only process-wide state of the library: 63 entries,
// constant-initialised, lock-free for readers.
#pragma once

#include "core/counter_word.h"
#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// Returns a number that no other run of this process has had, unless it has had 2^32 runs.
uint32_t NewRunNumber() noexcept;

/// Holds a tag from 1 to 63, or 0 if more schedulers are alive. A scheduler with tag 0 cannot be
/// found, and its counters are not checked for use with another scheduler.
class SchedulerTag {
public:
    SchedulerTag() = default;
    SchedulerTag(const SchedulerTag &) = delete;
    SchedulerTag &operator=(const SchedulerTag &) = delete;
    ~SchedulerTag() { Release(); }

    /// Takes a free tag and returns it, or 0.
    uint32_t Acquire() noexcept;
    /// Makes `scheduler` visible to Find until Release. Release waits for calls of Find that use
    /// it.
    void Publish(void *scheduler) noexcept;
    void Release() noexcept;

    /// Calls visit(scheduler) for each published scheduler until `visit` returns true; with `only`,
    /// just for the one with that tag. Returns true if `visit` did. Async-signal-safe if `visit`
    /// is.
    template <class Visit>
    static bool Find(Visit visit, uint32_t only = 0) noexcept {
        for (Entry &entry : s_entries) {
            if (only != 0 && &entry != &s_entries[only - 1]) continue;
            // Find counts itself as a reader, then reads the scheduler. Release clears the
            // scheduler, then reads the readers. All four are seq_cst, so one of the two sees the
            // other.
            entry.readers.fetch_add(1, kSeqCst);
            void *scheduler = entry.scheduler.load(kSeqCst);
            const bool found = scheduler != nullptr && visit(scheduler);
            // release: our reads come before the scheduler's end
            entry.readers.fetch_sub(1, kRelease);
            if (found) return true;
        }
        return false;
    }

private:
    friend struct DebugLayout;
    // An entry of the table.
    struct Entry {
        env::Atomic<uint8_t> taken{0};
        env::Atomic<uint32_t> readers{0};
        env::Atomic<void *> scheduler{nullptr};
    };
    static Entry s_entries[CounterWord::kMaxTag];
    uint32_t m_tag = 0;
};

}  // namespace weft::internal
