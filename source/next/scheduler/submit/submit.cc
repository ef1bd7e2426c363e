// Implements submit.h.
#include "scheduler/submit/submit.h"

#include "scheduler/state/reporting.h"
#include "scheduler/submit/chunks.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kFew = 16;  // up to so many tasks become entries of their own

// Of many tasks each worker gets some chunks. A worker that runs a chunk shares it when others are
// hungry.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count) noexcept {
    const uint32_t workers = scheduler.workerCount;
    const uint32_t parts = workers <= 1 ? 1 : 8 * workers;
    return std::clamp(count / parts + 1, 1u, kChunkTasks);
}

// The worker pops the newest entry first. So the first task is the newest one.
void EnqueueEntries(Worker &worker, uint32_t count, const Task *tasks, const TasksOf &of,
                    Level level) noexcept {
    WorkStealingDeque<Entry> &queue = worker.queue[level.index];
    if (!queue.Reserve(count)) NoRoom(worker, count);
    const auto stage = queue.Staging();
    for (uint32_t i = 0; i < count; ++i) stage(count - 1 - i, Entry::Of(tasks[i], of));
    queue.Publish(count);
}

void EnqueueChunks(Worker &worker, uint32_t count, const Task *tasks, const TasksOf &of,
                   Level level, uint32_t size) noexcept {
    WorkStealingDeque<Entry> &queue = worker.queue[level.index];
    const uint32_t chunks = (count + size - 1) / size;
    if (!queue.Reserve(chunks)) NoRoom(worker, count);
    const auto stage = queue.Staging();
    for (uint32_t i = 0; i < chunks; ++i) {
        const uint32_t begin = i * size, n = std::min(size, count - begin);
        stage(chunks - 1 - i,
              Entry::Of(FillChunk(*worker.scheduler, &worker, n, tasks + begin, of, level)));
    }
    queue.Publish(chunks);
}

// For a worker alone, or from an external thread: through a list.
void EnqueueList(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t onWorker) noexcept {
    const bool isPinned = onWorker != kAnyWorker;
    uint32_t size = isPinned ? kChunkTasks : ChunkSize(scheduler, count);
    if (isPinned && scheduler.IsAttachedSlot(onWorker)) size = 1;  // each is unbound at its end
    Node *newest = nullptr, *oldest = nullptr;
    uint32_t chunks = 0;
    for (uint32_t begin = 0; begin < count; begin += size, ++chunks) {
        Chunk &chunk =
            FillChunk(scheduler, worker, std::min(size, count - begin), tasks + begin, of, level);
        chunk.isPinned = isPinned;
        chunk.next = newest;
        newest = &chunk;
        if (oldest == nullptr) oldest = &chunk;
    }
    if (isPinned)
        Mail(scheduler, worker, onWorker, newest, oldest);
    else
        Inject(scheduler, worker, newest, oldest, chunks);
}

}  // namespace

void Enqueue(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
             const TasksOf &of, Level level, uint32_t onWorker) noexcept {
    if (worker == nullptr || onWorker != kAnyWorker)
        return EnqueueList(scheduler, worker, count, tasks, of, level, onWorker);
    const uint32_t size = count <= kFew ? 1 : ChunkSize(scheduler, count);
    if (size == 1)
        EnqueueEntries(*worker, count, tasks, of, level);
    else
        EnqueueChunks(*worker, count, tasks, of, level, size);
    worker->holds |= level.Bit();
    Published(scheduler, worker, level, (count + size - 1) / size);
}

// A thread that pins tasks to itself has not detached yet. It may be detaching; then it reads
// `bound` once more after it has run tasks.
bool Bind(Scheduler &scheduler, const Worker *caller, Worker &target, uint32_t count) noexcept {
    if (!scheduler.IsAttachedSlot(target.index)) return true;
    RaiseNow(scheduler, target.bound, count);
    // This is a read-modify-write, like the exchange in Detach that refuses further tasks. Of the
    // two, either this one is later and reads 0; or the exchange is later, and then Detach sees the
    // raised counter. acquire and release for that.
    if (&target == caller || target.accepts.fetch_add(0, kAcqRel) != 0) return true;
    Lower(scheduler, nullptr, target.bound, count);
    return false;
}

void Unbind(Scheduler &scheduler, Worker *caller, Worker &target, uint32_t count) noexcept {
    if (scheduler.IsAttachedSlot(target.index)) Lower(scheduler, caller, target.bound, count);
}

bool Submit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
            Counter *counter, const TaskOptions &options) noexcept {
    const bool isPinned = options.worker != kAnyWorker;
    if (isPinned && !Bind(scheduler, worker, scheduler.workers[options.worker], count)) {
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Name a worker, or a thread that is attached.",
                      "TaskOptions::worker of task '%s': no thread is attached as %u",
                      options.name != nullptr ? options.name : "unnamed", options.worker);
        return false;
    }
    if (counter != nullptr && !Raise(scheduler, worker, *counter, count)) {
        if (isPinned) Unbind(scheduler, worker, scheduler.workers[options.worker], count);
        return false;
    }
    // relaxed, both: the publication orders it. So a thread that counts one of these tasks as ended
    // counts it as submitted, too.
    if (worker != nullptr)
        AddTo(worker->submitted, count, kRelaxed);
    else
        scheduler.submittedOutside.fetch_add(count, kRelaxed);
    Enqueue(scheduler, worker, count, tasks, {counter, options.name}, LevelOf(worker, options),
            options.worker);
    return true;
}

}  // namespace weft::internal
