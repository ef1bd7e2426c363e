// Implements claim.h.
#include "scheduler/submit/claim.h"

#include "scheduler/submit/chunks.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

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

void PutBack(Worker &worker, Chunk &chunk) noexcept {
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

void ShareClaim(Worker &worker) noexcept {
    Chunk *const chunk = worker.claim;
    if (chunk == nullptr || chunk->isPinned || !worker.queue[chunk->level.Index()].LooksEmpty())
        return;
    Settle(worker, 1);
    const uint32_t give = (chunk->Left() + 1) / 2;
    chunk->end = static_cast<uint8_t>(chunk->end - give);
    Chunk &half = FillChunk(*worker.scheduler, &worker, give, chunk->Tasks() + chunk->end,
                            chunk->of, chunk->level);
    half.numbers = {chunk->numbers.first + chunk->end, chunk->numbers.areTraced};
    if (chunk->Left() == 0) EndChunk(worker);
    PushEntry(worker, half.level, Entry::Of(half));
}

}  // namespace weft::internal
