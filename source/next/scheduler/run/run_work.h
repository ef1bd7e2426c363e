// Runs tasks, and the loop of each fiber of the pool.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Calls the function of a task, unless its group is cancelled. An exception that leaves the task
/// goes to its group, or is reported. `group`: null if there is none.
void CallTask(Fiber &self, const Task &task, TaskGroup *group = nullptr) noexcept;

/// Runs a task, or tasks of a chunk, on this fiber. They count as finished then. The rest of the
/// chunk may run elsewhere.
void RunEntry(Fiber &self, const Entry &entry) noexcept;
void RunChunk(Fiber &self, Chunk &chunk) noexcept;

/// Runs the work. If it is a fiber, switches to it and frees `self`.
void Execute(Fiber &self, const Work &work) noexcept;

/// The function of each fiber of the pool: runs work until the scheduler ends.
FiberContext *FiberMain(void *fiber) noexcept;

}  // namespace weft::internal
