// Waits of tasks. A wait first runs tasks of its counter inline, then leaves the fiber.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns true if `counter <= value`. acquire: then the caller sees everything that the counted
/// tasks wrote.
inline bool IsReached(const Counter &counter, uint32_t value) noexcept {
    return CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Count() <= value;
}

/// What a wait waits for, and how.
struct WaitFor {
    Counter &counter;
    uint32_t value = 0;
    uint64_t deadline = Timers::kNever;
    ResumeOn resume = ResumeOn::AnyWorker;
    Meanwhile meanwhile = Meanwhile::AnyTask;
};

/// Waits on the calling task's fiber. Returns false at the deadline.
bool Wait(Worker &worker, const WaitFor &what) noexcept;

/// Submits tasks and waits for them. The counter is this call's own: if no other worker has taken
/// one of the tasks, it is never lowered.
void SubmitAndWait(Worker &worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept;

/// Lets other work run before the task goes on.
void YieldFiber(Worker &worker) noexcept;

}  // namespace weft::internal
