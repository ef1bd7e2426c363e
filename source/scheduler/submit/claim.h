// The claim: the chunks that a worker runs at the moment, innermost first. They are nested because
// a task that waits may run tasks on its own stack.
//
// Whenever a worker leaves a fiber, its claim is empty (ReleaseClaims). So if a chunk is still in
// the claim when one of its tasks returns, the worker has never left the fiber, and the chunk
// belongs to it. Otherwise it was freed or put back, and may be in use elsewhere. Only the
// innermost chunk can have finished tasks that are not counted (Settle).
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Adds the chunk to the claim.
void BeginChunk(Worker &worker, Chunk &chunk) noexcept;
/// The last task of the innermost chunk has begun: takes the chunk off the claim, and frees it.
void EndChunk(Worker &worker) noexcept;

/// Puts back what this worker has taken and not begun, the outermost chunk first.
void ReleaseClaims(Worker &worker) noexcept;

}  // namespace weft::internal
