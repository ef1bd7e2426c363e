// Waits of tasks. A wait for zero without a deadline first runs tasks of its counter inline. Then
// the fiber is left.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns true if `counter <= value`. acquire: then the caller sees everything that the counted
/// tasks wrote.
inline bool IsReached(const Counter &counter, uint32_t value) noexcept {
    const bool isReached =
        CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Count() <= value;
    if (isReached) race::SawCount(counter);
    return isReached;
}

/// What a wait waits for, and how.
struct WaitFor {
    Counter &counter;
    uint32_t value = 0;
    uint64_t deadline = Timers::kNever;
    WaitKind kind = WaitKind::Counter;
    ResumeOn resume = ResumeOn::AnyWorker;
    Meanwhile meanwhile = Meanwhile::AnyTask;
};

/// Waits on the calling task's fiber. Returns false at the deadline.
bool Wait(Worker &worker, const WaitFor &what) noexcept;
/// Blocks the worker's thread until the wait is over (Meanwhile::Nothing). Others take what lies in
/// its deques (wait/external.cpp).
bool BlockThread(Worker &worker, const WaitFor &what) noexcept;

/// From here on the fiber counts as waiting, until its FiberWait::counter is null.
void BeginWait(Fiber &fiber, const WaitFor &what) noexcept;

/// Submits tasks and waits for them. If this call has run each of them inline, one by one, it never
/// lowers their counter, which is its own.
void SubmitAndWait(Worker &worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept;

/// The worker's thread may block now: others can take what it has not begun, and what has finished
/// here is counted.
void PrepareToBlock(Worker &worker) noexcept;

/// The slow path of PassPoint. `calls`: the worker should look for other work.
bool LeaveAtPoint(Fiber &self, bool calls) noexcept;
/// A scheduling point of a task that could go on: also of a wait that is over already. Returns true
/// if other work went first.
WEFT_FORCEINLINE bool PassPoint(Fiber &self) noexcept {
    const bool calls = Point(*self.worker);
    return WEFT_UNLIKELY(calls || self.IsThreadStack()) && LeaveAtPoint(self, calls);
}

/// Runs up to `max` pieces of work that is pinned to the calling thread, and returns how many it
/// ran.
uint32_t RunPinned(Worker &worker, uint32_t max) noexcept;

/// Lets other work run before the task goes on.
void YieldFiber(Worker &worker) noexcept;

}  // namespace weft::internal
