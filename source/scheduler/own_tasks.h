// What a worker runs while one of its tasks waits with Meanwhile::OwnTasks: only what that wait depends on.
//
// A wait depends on the tasks of its counter; on the tasks of each counter that such a task waits for; on the tasks of each counter that
// such a task must follow, if it is deferred (deferred.h); and so on.
//
// To decide whether a wait depends on a given task, we climb. We start at the task's counter and ask each fiber or deferred task that waits
// for it. From each of these we go on to the counters that count it. The answer is yes if we reach the fiber that waits. The caller must
// hold the task: nobody else can take it. A held task has not finished, so its counter exists and stays above zero. While we ask about a
// waiter, its record is not given back, so it cannot be woken. It does not run, so it has not finished, and the counters that count it
// exist, too. The same argument holds for each further step.
//
// First the waiter runs tasks of its counter on its own stack, as in every wait for zero (help.h). Then its worker looks at what is pinned
// to it and takes something that the wait depends on. Then it looks at the oldest task of each lane of every worker, and takes it if it
// belongs to the awaited counter. All other work is left to open workers. A worker is open if it is active, is no attached thread, may run
// Low tasks, and no wait restricts it. If no worker is open, the worker goes through the ready fibers and tasks in the queues of all workers
// (Dig). Whatever its wait does not depend on it moves to the newest end of its own queues.
//
// No deadlock. Suppose that no worker is open, that an item lies in a queue, and that a wait with OwnTasks depends on it. Two events led to
// this, in either order: the item was published; and the wait became dependent on it, when a fiber or a deferred task registered at a
// counter. After each event WakeOwn wakes the workers that sleep in waits with OwnTasks; all of them, if no worker is open then. If some
// worker was still open at these events, it became restricted later, by a wait. The last one to do so registers at a counter, too, or its
// wait ends and it is open again. So this registration wakes all of them. No wake-up is lost: a sleeper announces that it sleeps, looks for
// work, and sleeps; a waker publishes, and looks for sleepers. These operations are seq_cst, so either the sleeper sees the item or the
// waker sees the sleeper.
//
// Only one worker digs at a time: an item that it holds lies in no queue, so a second digger would miss it. A worker in another kind of wait
// may miss it as well, and go to sleep. So whoever has moved something wakes a sleeper at the end (WakeOther).
//
// Other dependencies are not known here: a counter that is lowered by hand (DecrementCounter), a lock, an event. OnlyWaiters is reported if
// no other worker runs what would end such a wait.
#pragma once

#include "scheduler/find_work.h"

namespace weft::internal {

/// Finds a ready fiber or claims a task that the worker's innermost wait with OwnTasks depends on. `tasks`: whether the worker has a fiber
/// to run tasks on. If not, it looks for fibers only.
Found FindServing(Worker *worker, bool tasks) noexcept;

/// Last look before the worker sleeps: whether there is work that the wait depends on and that is not left to open workers. Claims nothing,
/// but may move items from the queues of other workers to those of this one.
bool AnyServing(Worker *worker) noexcept;

/// Call after something has been published, or after somebody has registered at a counter. Wakes the workers that sleep in waits with
/// OwnTasks: all of them if no worker is open; else those that still had pinned tasks or fibers when they went to sleep.
void WakeOwnNow(Scheduler &scheduler) noexcept;
inline void WakeOwn(Scheduler &scheduler) noexcept {
    if (WEFT_UNLIKELY(scheduler.idle.AnyOwnSleeper())) WakeOwnNow(scheduler);
}

/// Answers whether the worker's innermost wait with OwnTasks depends on a given task or fiber.
class Serving {
public:
    explicit Serving(Worker *worker) noexcept : m_worker(worker), m_own(worker->own) {}

    /// Whether it depends on a task of the counter, or on the fiber. The caller holds this task or fiber: nobody else can take it.
    bool Needs(Counter *counter) noexcept { return Climb(counter, nullptr); }
    bool Needs(const Fiber &fiber) noexcept;

    /// Whether the fiber itself waits for the counter, in this wait or in one on top of it. Only compares addresses: the counter may be gone.
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
    const Counter *m_not = nullptr;  // the last one that the wait was found not to depend on
};

}  // namespace weft::internal
