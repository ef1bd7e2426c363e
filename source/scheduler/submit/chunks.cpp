// Implements chunks.h.
#include "scheduler/submit/chunks.h"

#include "platform/race_finder.h"
#include "scheduler/state/reporting.h"

#include <algorithm>

namespace weft::internal {

namespace {

template <class Pool>
Chunk *TakeFrom(Pool &pool, uint32_t user) noexcept {
    const uint32_t index = pool.Take(user);
    if (index == Pool::kNone) return nullptr;
    Chunk &chunk = pool.At(index);
    chunk.index = index;
    return &chunk;
}

// In Chunk::index.
constexpr uint32_t kIsSingle = 1u << 31, kIsLarge = 1u << 30;

Chunk *TakeChunk(Scheduler &scheduler, const Worker *worker, uint32_t tasks) noexcept {
    const uint32_t user = CacheOf(worker);
    Chunk *chunk = nullptr;
    if (tasks == 1 && (chunk = TakeFrom(scheduler.singles, user)) != nullptr)
        chunk->index |= kIsSingle;
    else if (tasks <= kChunkTasks)
        chunk = TakeFrom(scheduler.chunks, user);
    else if ((chunk = TakeFrom(scheduler.largeChunks, user)) != nullptr)
        chunk->index |= kIsLarge;
    return chunk;
}

}  // namespace

// Of many tasks each worker gets some chunks. A worker that runs a chunk shares it when others are
// hungry.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count) noexcept {
    // each task may be drawn
    if (race::kFinder || WEFT_UNLIKELY(scheduler.order != nullptr)) return 1;
    const uint32_t workers = scheduler.workerCount;
    const uint32_t parts = workers <= 1 ? 1 : 8 * workers;
    const uint32_t most = count > scheduler.options.pendingTasks ? kLargeChunkTasks : kChunkTasks;
    return std::clamp(count / parts + 1, 1u, most);
}

void GiveChunk(Scheduler &scheduler, const Worker *worker, Chunk &chunk) noexcept {
    const uint32_t user = CacheOf(worker);
    if ((chunk.index & kIsSingle) != 0)
        scheduler.singles.GiveBack(chunk.index & ~kIsSingle, user);
    else if ((chunk.index & kIsLarge) != 0)
        scheduler.largeChunks.GiveBack(chunk.index & ~kIsLarge, user);
    else
        scheduler.chunks.GiveBack(chunk.index, user);
}

Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t all) noexcept {
    Chunk *const taken = TakeChunk(scheduler, worker, count);
    if (WEFT_UNLIKELY(taken == nullptr)) OutOfMemory(scheduler, all);
    Chunk &chunk = *taken;
    chunk.isPinned = chunk.isOld = chunk.numbers.areTraced = false;
    chunk.begin = chunk.settled = 0;
    chunk.level = level;
    chunk.of = of;
    chunk.end = static_cast<uint8_t>(count);
    const race::Unwatched unwatched;
    std::copy_n(tasks, count, chunk.Tasks());
    return chunk;
}

void NumberChunk(Chunk &chunk, TaskNumbers &numbers) noexcept {
    chunk.numbers = numbers;
    numbers.first += chunk.end;
}

}  // namespace weft::internal
