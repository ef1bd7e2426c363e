// Implements claim.h.
#include "scheduler/submit/claim.h"

#include "scheduler/submit/chunks.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

void BeginChunk(Worker &worker, Chunk &chunk) noexcept {
    if (worker.claim != nullptr) Settle(worker, 1);
    chunk.outer = worker.claim;
    chunk.settled = chunk.begin;
    worker.claim = &chunk;
}

void EndChunk(Worker &worker) noexcept {
    Chunk &chunk = *worker.claim;
    Settle(worker, 1);
    worker.claim = chunk.outer;
    GiveChunk(*worker.scheduler, &worker, chunk);
}

namespace {

// A fair pick takes one task of an old chunk. If the rest became the newest entry, it would run
// before all others. So it goes to Scheduler::behind. Fair picks take it from there, and so do
// workers that find no other work of its level. If the own deque is empty, it goes there.
void PutBack(Worker &worker, Chunk &chunk) noexcept {
    if (chunk.isOld && !chunk.isPinned && !worker.queue[chunk.level.Index()].LooksEmpty()) {
        const Level level = chunk.level;
        worker.scheduler->behind[level.Index()].Push(&chunk);
        return Published(*worker.scheduler, &worker, level, 1);
    }
    if (!chunk.isPinned) return PushEntry(worker, chunk.level, Entry::Of(chunk));
    worker.pinned[static_cast<uint32_t>(chunk.level.priority)].PushFront(chunk);
    worker.filter.pinned |= Level(chunk.level.priority).Bit();
    worker.filter.isSpecial = true;
}

void Release(Worker &worker, Chunk *chunk) noexcept {
    if (chunk == nullptr) return;
    Release(worker, chunk->outer);
    PutBack(worker, *chunk);
}

}  // namespace

void ReleaseClaims(Worker &worker) noexcept {
    if (worker.claim == nullptr) return;
    Settle(worker, 1);
    Chunk *const innermost = worker.claim;
    worker.claim = nullptr;
    Release(worker, innermost);
}

}  // namespace weft::internal
