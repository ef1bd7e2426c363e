// Makes work visible: copies tasks into chunks, and puts chunks and ready fibers where workers find
// them. Tells workers of it: shows notices for those that are awake, and wakes sleepers. The chunks
// lie in three pools: for one task, for up to 60 and for up to 252.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Wakes some worker that may run the levels, if such a worker sleeps. `by`: the caller's worker,
/// or null.
void WakeOne(Scheduler &scheduler, Worker *by, uint32_t levels) noexcept;

/// Wakes all sleepers.
void WakeAll(Scheduler &scheduler, Worker *by) noexcept;

/// Call it after `entries` entries of the level were published. If no plain worker searches, wakes
/// plain sleepers. Wakes up to two choosy sleepers, or for a level of a group up to two workers
/// that may run it.
void Published(Scheduler &scheduler, Worker *by, Level level, uint32_t entries) noexcept;

/// Wakes up to three plain sleepers, and tells them to wake more, up to one per entry. Call it for
/// new entries, and when a worker has found work. Returns true if it woke any.
bool WakePlain(Scheduler &scheduler, Worker *by, uint32_t entries) noexcept;

/// Wakes a sleeper if no sleeper keeps the earliest deadline (run/idle_loop.cpp). Call it when a
/// deadline was set: then does nothing if that is not the earliest one. Or when the keeper has
/// found work.
void KeepDeadline(Scheduler &scheduler, Worker *by, uint64_t deadline = 0) noexcept;
/// Sets a timer, and does what KeepDeadline does.
void SetTimer(Scheduler &scheduler, Worker *by, Timer &timer, uint64_t deadline) noexcept;

/// Puts nodes, linked from the newest to the oldest, where any worker finds them.
void Inject(Scheduler &scheduler, Worker *by, Node *newest, Node *oldest,
            uint32_t entries) noexcept;

/// Puts nodes where only worker `index` finds them.
void Mail(Scheduler &scheduler, Worker *by, uint32_t index, Node *newest, Node *oldest) noexcept;

/// Lets each worker compute its filter anew (state/groups.h).
void SignalAll(Scheduler &scheduler, Worker *by) noexcept;

/// Does what Published does, for entries of the caller's own deque. Fast if nobody has to be woken.
WEFT_FORCEINLINE void PublishedOwn(Worker &worker, Level level, uint32_t entries) noexcept {
    if (WEFT_UNLIKELY((kUnnoticed & level.Bit()) == 0 || worker.scheduler->idle.Wanted()))
        Published(*worker.scheduler, &worker, level, entries);
}
/// Pushes an entry to the own deque of that level. Call PublishedOwn afterwards.
WEFT_FORCEINLINE void Push(Worker &worker, Level level, const Entry &entry) noexcept {
    if (WEFT_UNLIKELY(!worker.queue[level.Index()].Push(entry))) OutOfMemory(*worker.scheduler);
    worker.holds |= level.Bit();
}
/// Pushes it, and tells others.
WEFT_FORCEINLINE void PushEntry(Worker &worker, Level level, const Entry &entry) noexcept {
    Push(worker, level, entry);
    PublishedOwn(worker, level, 1);
}

/// The fiber may continue. It goes to the deque of `worker`, to the inbox of the worker that it is
/// pinned to, or to the injector. It inherits the highest priority of the waiters for its tasks.
/// `worker`: the caller's, or null. `picks`: the worker is about to pick. Then no sleeper is woken
/// for the fiber yet (HandOver). The fiber may run at once.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber, bool picks = false) noexcept;

/// Ends a hand-over: wakes others for the fiber (HandOver::isQuiet).
void EndQuiet(Worker &worker) noexcept;

/// Returns how many tasks each chunk of a submission of `count` tasks gets. `onWorker`: the only
/// worker that may run them, or kAnyWorker.
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count, uint32_t onWorker) noexcept;

/// Takes a chunk with these tasks, at most kLargeChunkTasks. Aborts with a report if there is no
/// memory. `worker`: the caller's, or null.
Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t number) noexcept;

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
