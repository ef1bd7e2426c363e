// Memory for chunks: three pools, for one task, for up to 60 and for up to 252.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns how many tasks each chunk of a submission of `count` tasks gets.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count) noexcept;

/// Gives the chunk back to its pool.
void GiveChunk(Scheduler &scheduler, const Worker *worker, Chunk &chunk) noexcept;

/// Takes a chunk with these tasks, at most kLargeChunkTasks. Aborts with a report if there is no
/// memory. `worker`: the caller's, or null. `all`: the number of tasks of the submission, for the
/// report.
Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t all) noexcept;

/// Numbers the tasks of the new chunk. `numbers`: of these tasks; those of the next chunk follow.
void NumberChunk(Chunk &chunk, TaskNumbers &numbers) noexcept;

}  // namespace weft::internal
