// Running tasks of the awaited counter on the waiter's own stack.
//
// While a task waits for zero it depends on all tasks of that very counter already, so running them adds no dependency
// and no deadlock. Anything else might be what holds a lock that the waiter needs.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Whether a task that asks for such a stack may run on top of the calling frames: half of what it asked for is left.
inline bool MayHelp(const Fiber *self, const Scheduler &scheduler, StackClass task) noexcept {
    const bool large = task == StackClass::Large;
    const size_t bytes = large ? scheduler.options.largeStackBytes : scheduler.options.smallStackBytes;
    return !self->IsThreadStack() && (!large || scheduler.pool.ClassOf(self->index) == StackClass::Large) &&
           self->StackLeft() > bytes / 2;
}

/// Runs the counter's tasks for as long as they are what this worker published last, at most 64 claims in a row: then the
/// loop decides what goes first, or a counter that is fed by its own tasks would keep everything else waiting.
void Help(Fiber *self, Counter &counter) noexcept;

/// Runs those of the `published` tasks of the counter, which only the caller knows, that nobody else has taken. The count
/// is left alone; returns how many ran.
uint32_t TakeBack(Fiber *self, Counter &counter, uint32_t published, Priority priority) noexcept;

}  // namespace weft::internal
