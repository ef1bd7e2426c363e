// Waits of a task: for a counter, with each kind of Meanwhile, or until a deadline. Also yields.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Blocks the calling fiber until `counter <= value`. The caller is a task on `worker`.
void Wait(Worker *worker, Counter &counter, uint32_t value, ResumeOn resume) noexcept;

/// Call at the end of a wait that began on `before`, with SchedulerOptions::migrateAfterWait: moves
/// the calling task to another worker, if it is still there. Yields until another worker has stolen
/// its fiber, but at most for ten milliseconds: the others may be busy, or may not run tasks of
/// this priority. Does nothing if the task is pinned or runs on a thread's own stack, and if no
/// other thread runs tasks.
void LeaveWorker(Fiber *self, const Worker *before) noexcept;

/// Like Wait, but `meanwhile` restricts what the worker runs until the wait ends. Unless it is
/// AnyTask, the fiber continues on this worker.
void WaitMeanwhile(Worker *worker, Counter &counter, uint32_t value, Meanwhile meanwhile) noexcept;

/// Puts the thread to sleep until `counter <= value`. It runs no task. Call it only while the fiber
/// is Restricted to Meanwhile::Nothing.
void Block(Fiber *self, Counter &counter, uint32_t value) noexcept;

/// While this object lives, the fiber is pinned to its worker, and so are the tasks that run on top
/// of it. If the worker is an attached thread, DetachThread waits until the object is destroyed.
class StaysHere {
public:
    explicit StaysHere(Fiber *self) noexcept;
    ~StaysHere();
    StaysHere(const StaysHere &) = delete;
    StaysHere &operator=(const StaysHere &) = delete;

private:
    Fiber *m_self = nullptr;  // null: it was pinned already
};

/// While this object lives, the fiber's worker runs only what `meanwhile` allows, and the fiber is
/// pinned to this worker. Not for AnyTask. `counter`: the counter that the fiber waits for, or null
/// if it waits for several.
class Restricted {
public:
    Restricted(Fiber *self, Meanwhile meanwhile, const Counter *counter) noexcept;
    ~Restricted();
    Restricted(const Restricted &) = delete;
    Restricted &operator=(const Restricted &) = delete;

private:
    const StaysHere m_staysHere;
    Worker *const m_worker;
    const Meanwhile m_meanwhile;
    OwnWait m_own;
};

/// Makes the calling fiber ready, behind other ready fibers, and lets other work run.
void YieldFiber(Worker *worker) noexcept;

/// Blocks the calling fiber until the deadline.
void SleepUntil(Worker *worker, uint64_t deadline) noexcept;

}  // namespace weft::internal
