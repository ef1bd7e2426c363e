// What a worker runs while one of its tasks waits with Meanwhile::OwnTasks: only what that wait depends on.
//
// The wait depends on the tasks of its counter; on the tasks of counters that these wait for, or that tasks wait for which come after a
// counter (deferred.h); and so on. Whether it depends on a given task is found from the task's counter upwards, by way of those that wait
// for the counter: their own counters, up to the fiber that waits. The task must be in hand, taken off its queue. Then it has not finished,
// so its counter exists and stays above zero; whoever waits for it stays in line while it is asked about, and does not run, so its own
// counter exists, too. And so on upwards.
//
// A worker that waits so runs tasks of the awaited counter on top of the waiter, as every waiter does (help.h). It takes what its wait
// depends on from what is pinned to it, and tasks of the awaited counter from the oldest end of others' lanes. The rest is left to the
// open workers, which run tasks of all priorities and which no wait restricts. If there is none, the worker goes through everything that lies in queues (Dig). What the wait
// does not depend on becomes the newest of its own queues.
//
// No deadlock. Let no worker be open, and let something lie in a queue that a wait with OwnTasks depends on. It came to the queue, and
// it came to depend on it, by a registration at a counter. After each of these two the workers that sleep in such waits are woken (WakeOwn).
// Whoever has become restricted since registers at a counter then, and wakes them, too. A worker announces that it sleeps, then looks, and
// then sleeps; whoever wakes it has published before, and looks for sleepers then; all are seq_cst. So the later one of the two sees
// the other. One at a time digs, so that no other one misses what it has in hand. Workers of other kinds may miss it: one is woken at
// the end, as after a submission.
//
// What reaches the counter in another way (DecrementCounter by hand, locks, events) is not known here: OnlyWaiters is reported then.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Something that the worker's innermost wait with OwnTasks depends on. `tasks`: the worker has a fiber for tasks.
Found FindServing(Worker *worker, bool tasks) noexcept;

/// Last look: whether there is anything. It stays where it is.
bool AnyServing(Worker *worker) noexcept;

/// Call after something has been published, or after somebody has registered at a counter. Wakes the workers that sleep in waits with
/// OwnTasks: all if no worker is open, else those to which something is pinned.
void WakeOwnNow(Scheduler &scheduler) noexcept;
inline void WakeOwn(Scheduler &scheduler) noexcept {
    if (WEFT_UNLIKELY(scheduler.idle.AnyOwnSleeper())) WakeOwnNow(scheduler);
}

/// What a task that waits with OwnTasks depends on.
class Serving {
public:
    explicit Serving(Worker *worker) noexcept : m_worker(worker), m_own(worker->own) {}

    /// The caller has a task of the counter in hand, or a fiber.
    bool Needs(Counter *counter) noexcept { return Climb(counter, nullptr); }
    bool Needs(const Fiber &fiber) noexcept;

    /// A task of a counter that the waiter itself waits for. The counter may be gone.
    bool IsAwaited(const Counter *counter) const noexcept;

private:
    struct Step {
        const Counter *counter;
        const Step *below;
        uint32_t height;
    };
    struct Asked;
    bool Climb(Counter *counter, const Step *below) noexcept;
    bool ClimbFrom(const Fiber &fiber, const Counter *without, const Step *below) noexcept;
    bool ClimbOwner(uint32_t owner, const Step &step) noexcept;

    Worker *m_worker;
    const OwnWait *m_own;
    const Counter *m_not = nullptr;  // no wait of ours depends on it
};

}  // namespace weft::internal
