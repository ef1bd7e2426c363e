// Running tasks of the awaited counter on the waiter's own stack.
//
// While a task waits for zero it depends on all tasks of that very counter already, so running them
// adds no dependency and no deadlock. Anything else might be what holds a lock that the waiter
// needs.
//
// They run at the waiter's priority if that is the higher one. So do tasks of the counter that
// others steal meanwhile: the waiter's worker names the counter in Worker::lends. If the waiter is
// High, others look for these tasks as for High ones.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// How many classes of tasks may run on top of the calling frames, because all of the stack that
/// they ask for is left: 0, 1 (Small), or 2 (also Large).
inline uint32_t ClassesThatFit(const Fiber *self, const Scheduler &scheduler) noexcept {
    if (self->IsThreadStack()) return 0;
    const size_t left = self->StackLeft();
    if (WEFT_UNLIKELY(left < scheduler.options.smallStackBytes)) return 0;
    const bool large = scheduler.pool.ClassOf(self->index) == StackClass::Large;
    return large && left >= scheduler.options.largeStackBytes ? 2 : 1;
}

/// Whether a task that asks for such a stack may run there.
inline bool MayRunInline(const Fiber *self, const Scheduler &scheduler, StackClass task) noexcept {
    if (task == StackClass::Large) return ClassesThatFit(self, scheduler) == 2;
    return !self->IsThreadStack() && self->StackLeft() >= scheduler.options.smallStackBytes;
}

/// Runs the counter's tasks for as long as they are what this worker published last, or until
/// `deadline` has passed. After each of them whatever has to have a turn has one (YieldToUrgent).
/// Returns true if the counter was at zero after one of them. False does not mean that it is above
/// zero.
bool RunInline(Fiber *self, Counter &counter, uint64_t deadline = Timers::kNever) noexcept;

/// Takes the newest entry of the lane, if it is a task of the counter on its own.
WEFT_FORCEINLINE bool PopSingle(Worker *worker, uint32_t lane, const Counter *counter,
                                TaskEntry &entry) noexcept {
    return worker->lanes[lane].PopIf(entry, [=](const TaskEntry &newest) {
        return newest.TheCounter() == counter && !newest.IsSlice();
    });
}

}  // namespace weft::internal
