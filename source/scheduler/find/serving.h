// Decides whether a wait with Meanwhile::OwnTasks depends on a task or a fiber (own_tasks.h).
//
// A wait depends on the tasks of its counter; on the tasks of each counter that such a task waits
// for; on the tasks of each counter that such a task must follow, if it is deferred (deferred.h);
// and so on.
//
// To decide whether a wait depends on a given task, the worker climbs. It starts at the task's
// counter and asks each fiber or deferred task that waits for this counter. From each of these it
// goes on to the counters that count it. The answer is yes if the climb reaches the fiber that
// waits.
//
// The climb never reads a counter that is gone:
// - The caller holds the task, so no other worker can take it. A held task has not finished, so its
//   counter exists and stays above zero.
// - While the climb asks about a waiter, the waiter's record is not given back, so the waiter
//   cannot be woken. It does not run, so it has not finished, and the counters that count it exist,
//   too.
// - The same argument holds for each further step.
//
// Only one worker climbs at a time (Scheduler::climbs), because counters may wait for each other in
// a circle.
//
// The climb does not know other dependencies: a counter that is lowered by hand (DecrementCounter),
// a lock, an event, or a dependency that leads through more than 40 waits. Stalled is reported if
// no other worker runs what would end such a wait.
#pragma once

#include "scheduler/state/scheduler.h"

#include <cstdint>

namespace weft::internal {

/// The climb for the worker's innermost wait with OwnTasks. The caller holds Scheduler::climbs.
class Serving {
public:
    explicit Serving(Worker *worker) noexcept : m_worker(worker), m_own(worker->own) {}

    /// Returns true if the wait depends on a task of the counter, or on the fiber. The caller must
    /// hold this task or fiber, so that no other worker can take it.
    bool Needs(Counter *counter) noexcept { return Climb(counter, nullptr); }
    bool Needs(const Fiber &fiber) noexcept;

    /// Returns true if the waiting fiber itself waits for the counter, in this wait or in one on
    /// top of it. Compares only addresses, because the counter may be gone.
    bool IsAwaited(const Counter *counter) const noexcept;

private:
    // The counters that the climb has passed, from the present one down to the first.
    struct Step {
        const Counter *counter;
        const Step *below;
        uint32_t height;
    };
    // What RemoveIf passes to the callback of a climb.
    struct Asked;
    /// Returns true if the climb from this counter reaches the wait.
    bool Climb(Counter *counter, const Step *below) noexcept;
    /// Climbs from the counters that count the fiber. `waited`: the counter that it waits for, or
    /// has waited for.
    bool ClimbFrom(const Fiber &fiber, const Counter *waited, const Step *below) noexcept;
    /// Climbs from the owner of a wait record.
    bool ClimbOwner(uint32_t owner, const Step &step) noexcept;
    /// Returns true if a complete climb from the counter has answered no.
    bool WasRefused(const Counter *counter) const noexcept;

    // limits the recursion, so that a climb fits on a small stack
    static constexpr uint32_t kHighest = 40;
    static constexpr uint32_t kRefused = 64;

    Worker *m_worker;
    const OwnWait *m_own;
    // the climb left something out: it was too high, or came to a counter twice
    bool m_isCut = false;
    uint32_t m_refusals = 0;  // number of counters refused; the latest ones are kept
    // Counters with the answer no. Without them the same counter would be climbed from again and
    // again.
    const Counter *m_refused[kRefused] = {};
};

}  // namespace weft::internal
