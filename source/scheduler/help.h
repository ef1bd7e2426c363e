// Running tasks of the awaited counter on the waiter's own stack.
//
// While a task waits for zero it depends on all tasks of that very counter already, so running them adds no dependency
// and no deadlock. Anything else might be what holds a lock that the waiter needs.
//
// They run at the waiter's priority if that is the higher one. So do tasks of the counter that others steal meanwhile: the
// waiter's worker names the counter in Worker::lends. If the waiter is High, others look for these tasks as for High ones.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Whether a task that asks for such a stack may run on top of the calling frames: all that it asked for is left.
inline bool MayHelp(const Fiber *self, const Scheduler &scheduler, StackClass task) noexcept {
    const bool large = task == StackClass::Large;
    const size_t bytes = large ? scheduler.options.largeStackBytes : scheduler.options.smallStackBytes;
    return !self->IsThreadStack() && (!large || scheduler.pool.ClassOf(self->index) == StackClass::Large) &&
           self->StackLeft() >= bytes;
}

/// Runs the counter's tasks for as long as they are what this worker published last, or until `deadline` has passed. After each of them
/// whatever has to have a turn has one (GiveTurn). Returns true if the counter was at zero after one of them. False does not mean
/// that it is above zero.
bool Help(Fiber *self, Counter &counter, uint64_t deadline = Timers::kNever) noexcept;

/// Runs the first task on the caller's stack and publishes the others; then waits for them.
void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks, const TaskOptions &options) noexcept;

}  // namespace weft::internal
