// Run inline: a waiter runs tasks of its counter on its own stack.
//
// A task that waits for zero depends on all tasks of that counter already. So to run them here adds
// no dependency and no deadlock. Any other task might itself depend on the waiter, for example on a
// lock that the waiter holds. On top of the waiter it would then wait for ever.
//
// The tasks run at the waiter's priority if that is the higher one. So do tasks of the counter that
// other workers steal meanwhile: the waiter's worker names the counter in Worker::lends. If the
// waiter is High, other workers search for these tasks as for High ones.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns how many classes of tasks may run on top of the calling frames, because a whole stack of
/// the class is left: 0, 1 (Small), or 2 (also Large). `small`: the bytes for a Small task.
inline uint32_t ClassesThatFit(const Fiber *self, const Scheduler &scheduler,
                               size_t small) noexcept {
    if (self->IsThreadStack()) return 0;
    const size_t left = self->StackLeft();
    if (WEFT_UNLIKELY(left < small)) return 0;
    const bool large = scheduler.pool.ClassOf(self->index) == StackClass::Large;
    return large && left >= scheduler.options.largeStackBytes ? 2 : 1;
}

/// Returns true if a task of that class may run on top of the calling frames. False with an order:
/// then the wait draws that (find/ordered.h).
inline bool MayRunInline(const Fiber *self, const Scheduler &scheduler, StackClass task) noexcept {
    const size_t least = scheduler.order.leastInline;
    if (task == StackClass::Large) return ClassesThatFit(self, scheduler, least) == 2;
    return !self->IsThreadStack() && self->StackLeft() >= least;
}

/// Runs tasks of the counter while they are the newest in this worker's lanes, or until `deadline`
/// has passed. After each task, urgent work runs first (YieldToUrgent). Returns true if the counter
/// was at zero after one of the tasks. False does not mean that the counter is above zero.
bool RunInline(Fiber *self, Counter &counter, uint64_t deadline = Timers::kNever) noexcept;

/// Takes the newest entry of the lane, if it is a single task of the counter.
WEFT_FORCEINLINE bool PopSingle(Worker *worker, uint32_t lane, const Counter *counter,
                                TaskEntry &entry) noexcept {
    return worker->lanes[lane].PopIf(entry, [=](const TaskEntry &newest) {
        return newest.TheCounter() == counter && !newest.IsSlice();
    });
}

}  // namespace weft::internal
