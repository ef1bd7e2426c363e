// Copies tasks into chunks, and moves chunks to where workers find them, when the time has come.
// The chunks lie in three pools: for one task, for up to 60 and for up to 252.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns how many tasks each chunk of a submission of `count` tasks gets. `onWorker`: the only
/// worker that may run them, or kAnyWorker.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count, uint32_t onWorker) noexcept;

/// Takes a chunk with these tasks, at most kLargeChunkTasks. Aborts with a report if there is no
/// memory. `worker`: the caller's, or null.
Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t number = 0) noexcept;

/// Returns the chunk of an entry that is no fiber. If it is a task, takes a chunk for it.
Chunk &ChunkFor(const Worker &worker, const Entry &entry, Level level) noexcept;

/// Gives the chunk back to its pool.
void GiveChunk(Scheduler &scheduler, const Worker *worker, Chunk &chunk) noexcept;

/// Copies all tasks of a submission into chunks.
ChunkList MakeChunks(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level, uint32_t onWorker,
                     uint32_t number = 0) noexcept;

/// Makes the chunks visible. `worker`: the caller's, or null. `areDeferred`: they have no numbers.
void Deliver(Scheduler &scheduler, Worker *worker, const ChunkList &tasks,
             bool areDeferred = true) noexcept;

/// `n` references to the deferred tasks are gone. Hands the tasks over when they may begin.
void Reach(Scheduler &scheduler, Worker *worker, Deferred &deferred, uint32_t n) noexcept;

}  // namespace weft::internal
