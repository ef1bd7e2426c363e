// Whether a wait with Meanwhile::OwnTasks depends on a task or a fiber, see own_tasks.h.
#pragma once

#include "scheduler/state/scheduler.h"

#include <cstdint>

namespace weft::internal {

/// Answers whether the worker's innermost wait with OwnTasks depends on a given task or fiber. The
/// caller holds Scheduler::climbs.
class Serving {
public:
    explicit Serving(Worker *worker) noexcept : m_worker(worker), m_own(worker->own) {}

    /// Whether it depends on a task of the counter, or on the fiber. The caller holds this task or
    /// fiber: nobody else can take it.
    bool Needs(Counter *counter) noexcept { return Climb(counter, nullptr); }
    bool Needs(const Fiber &fiber) noexcept;

    /// Whether the fiber itself waits for the counter, in this wait or in one on top of it. Only
    /// compares addresses: the counter may be gone.
    bool IsAwaited(const Counter *counter) const noexcept;

private:
    struct Step {
        const Counter *counter;
        const Step *below;
        uint32_t height;
    };
    struct Asked;
    bool Climb(Counter *counter, const Step *below) noexcept;
    bool ClimbFrom(const Fiber &fiber, const Counter *waited, const Step *below) noexcept;
    bool ClimbOwner(uint32_t owner, const Step &step) noexcept;
    bool WasRefused(const Counter *counter) const noexcept;

    static constexpr uint32_t kHighest = 40;  // limits the recursion: a climb fits on a small stack
    static constexpr uint32_t kRefused = 64;

    Worker *m_worker;
    const OwnWait *m_own;
    // the climb has left out something: too high, or a circle
    bool m_isCut = false;
    uint32_t m_refusals = 0;  // so many, of which the latest are kept
    // no: or the same counter would be climbed from again and again
    const Counter *m_refused[kRefused] = {};
};

}  // namespace weft::internal
