// Moves chunks to where workers find them, when the time has come.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Copies tasks into chunks. `onWorker`: the only worker that may run them, or kAnyWorker.
ChunkList MakeChunks(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level, uint32_t onWorker,
                     TaskNumbers numbers = {}) noexcept;

/// Makes the chunks visible. `worker`: the caller's, or null.
void Deliver(Scheduler &scheduler, Worker *worker, const ChunkList &tasks) noexcept;

/// `n` references to the deferred tasks are gone. Hands the tasks over when they may begin.
void Reach(Scheduler &scheduler, Worker *worker, Deferred &deferred, uint32_t n) noexcept;

}  // namespace weft::internal
