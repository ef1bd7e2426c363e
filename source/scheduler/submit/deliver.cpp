// Implements deliver.h.
#include "scheduler/submit/deliver.h"

#include "platform/race_finder.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

// In Chunk::index.
constexpr uint32_t kIsSingle = 1u << 31, kIsLarge = 1u << 30;

template <class Pool>
Chunk *TakeFrom(Pool &pool, uint32_t user, uint32_t kind) noexcept {
    const uint32_t index = pool.Take(user);
    if (index == Pool::kNone) return nullptr;
    Chunk &chunk = pool.At(index);
    chunk.index = index | kind;
    return &chunk;
}

Chunk *TakeChunk(Scheduler &scheduler, uint32_t user, uint32_t tasks) noexcept {
    if (tasks > kChunkTasks) return TakeFrom(scheduler.pools.largeChunks, user, kIsLarge);
    Chunk *const single = tasks == 1 ? TakeFrom(scheduler.pools.singles, user, kIsSingle) : nullptr;
    return single != nullptr ? single : TakeFrom(scheduler.pools.chunks, user, 0);
}

}  // namespace

// Of many tasks each worker gets some chunks. A worker that runs a chunk shares it when others are
// hungry.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count, uint32_t onWorker) noexcept {
    // each task may be drawn
    if (race::kFinder || WEFT_UNLIKELY(scheduler.order != nullptr)) return 1;
    // the pinned tasks of an attached thread are unbound one by one
    if (onWorker != kAnyWorker) return scheduler.IsAttachedSlot(onWorker) ? 1 : kChunkTasks;
    const uint32_t workers = scheduler.workerCount;
    const uint32_t parts = workers <= 1 ? 1 : 8 * workers;
    const uint32_t most = count > scheduler.options.pendingTasks ? kLargeChunkTasks : kChunkTasks;
    return std::clamp(count / parts + 1, 1u, most);
}

Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t number) noexcept {
    Chunk *const taken = TakeChunk(scheduler, CacheOf(worker), count);
    if (WEFT_UNLIKELY(taken == nullptr)) OutOfMemory(scheduler);
    Chunk &chunk = *taken;
    chunk.isPinned = chunk.isOld = false;
    chunk.begin = chunk.settled = 0;
    chunk.level = level;
    chunk.of = of;
    chunk.end = static_cast<uint8_t>(count);
    chunk.number = number;
    const race::Unwatched unwatched;
    std::copy_n(tasks, count, chunk.Tasks());
    return chunk;
}

void GiveChunk(Scheduler &scheduler, const Worker *worker, Chunk &chunk) noexcept {
    const uint32_t user = CacheOf(worker);
    if ((chunk.index & kIsSingle) != 0)
        scheduler.pools.singles.GiveBack(chunk.index & ~kIsSingle, user);
    else if ((chunk.index & kIsLarge) != 0)
        scheduler.pools.largeChunks.GiveBack(chunk.index & ~kIsLarge, user);
    else
        scheduler.pools.chunks.GiveBack(chunk.index, user);
}

ChunkList MakeChunks(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level, uint32_t onWorker, uint32_t number) noexcept {
    const uint32_t size = ChunkSize(scheduler, count, onWorker);
    ChunkList list;
    list.onWorker = onWorker;
    for (uint32_t begin = 0, n; begin < count; begin += n, ++list.chunks) {
        n = std::min(size, count - begin);
        Chunk &chunk = FillChunk(scheduler, worker, n, tasks + begin, of, level, number);
        number += n;
        chunk.isPinned = onWorker != kAnyWorker;
        chunk.next = list.newest;
        list.newest = &chunk;
        if (list.oldest == nullptr) list.oldest = &chunk;
    }
    return list;
}

void Deliver(Scheduler &scheduler, Worker *worker, const ChunkList &tasks,
             bool areDeferred) noexcept {
    for (Node *node = tasks.newest; race::kFinder && node != nullptr; node = node->next)
        race::Submitted(1, static_cast<Chunk *>(node)->Tasks());
    if (IsTraced(scheduler) && areDeferred) TraceDeferred(scheduler, worker, tasks);
    if (tasks.onWorker != kAnyWorker)
        return Mail(scheduler, worker, tasks.onWorker, tasks.newest, tasks.oldest);
    if (worker == nullptr || tasks.chunks != 1)
        return Inject(scheduler, worker, tasks.newest, tasks.oldest, tasks.chunks);
    PushEntry(*worker, tasks.newest->level, Entry::Of(*tasks.newest));
}

// acq_rel: the thread that hands the tasks over sees what was done before each reference went. The
// next owner of the object comes after all of them.
void Reach(Scheduler &scheduler, Worker *worker, Deferred &deferred, uint32_t n) noexcept {
    const ChunkList tasks = deferred.tasks;  // after the subtraction the object may be gone
    const uint32_t firesAt = deferred.firesAt.load(kRelaxed), index = deferred.index;
    race::Finishes(&deferred);
    const uint64_t before = deferred.state.fetch_sub(n, kAcqRel);
    const uint32_t had = static_cast<uint32_t>(before & Deferred::kLeft), left = had - n;
    const bool fires = had > firesAt && left <= firesAt && (before & Deferred::kWithdrawn) == 0;
    if (fires) race::SawAll(&deferred);
    if (left == 0) {
        // only this thread refers to it now
        const uint64_t generation = (before >> Deferred::kGenerationShift) + 1;
        deferred.counter.store(nullptr, kRelaxed);
        // release: a thread that reads the new generation does not use the object
        deferred.state.store(generation << Deferred::kGenerationShift, kRelease);
        scheduler.pools.deferred.GiveBack(index, CacheOf(worker));
    }
    if (fires) Deliver(scheduler, worker, tasks);
}

}  // namespace weft::internal
