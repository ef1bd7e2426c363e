// Submits tasks that do not go to the caller's own lanes: tasks of external threads, and tasks that
// are pinned to a worker.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Raises `counter` and hands copies of the tasks to the worker that options.worker names, or else
/// to the first worker that looks. `worker`: the caller's, or null. The arguments have been
/// checked. Returns false after a report. A task that is pinned to the caller's own thread is
/// accepted also while that thread detaches. Lock-free, unless more blocks are in use than ever
/// before in the run. There are two pools: blocks of one task, and blocks of up to 30 tasks. Each
/// begins with 64 blocks. When a pool has to grow, one thread allocates memory, and the others wait
/// for it.
bool Post(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
          const TaskOptions &options) noexcept;

/// The unit of a counter that counts a submitted task: a new unit, or the unit of the submitting
/// task, which ends right after. Kept: a new unit, for a task that StopFor must not withdraw; nor
/// does it withdraw one that has the unit of another task.
enum class Unit : uint8_t { New, Kept, OfCaller };
struct CountedBy {
    Counter *counter;  // may be null
    Unit unit;
};

/// Post for one task, in two steps. After Prepare the task counts as submitted. After Send or
/// SendNow it is visible. Prepare returns null after a report. The caller has flushed what was
/// pending on `worker`.
TaskBlock *Prepare(Scheduler &scheduler, Worker *worker, const Task &task, CountedBy counted,
                   const TaskOptions &options) noexcept;

/// Returns another block for the same task, or null if there is no memory. Does not count it.
TaskBlock *CopyBlock(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept;

/// Prepare for `count` tasks, which a new unit of `counter` each counts. Returns the first of the
/// blocks, linked from the oldest to the newest. SendBatch makes them visible.
TaskBlock *PrepareBatch(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                        Counter *counter, const TaskOptions &options) noexcept;

/// Puts the claim of a pinned task back, because the task cannot run now. It will be the first one
/// again.
void PostClaimAgain(Worker *worker) noexcept;

/// Blocks whose tasks the worker has read. The destructor returns them to their pools together.
class ReadBlocks {
public:
    explicit ReadBlocks(Worker *worker) noexcept
        : m_singles(worker->scheduler->singles, worker->index),
          m_blocks(worker->scheduler->blocks, kNoCache) {}
    void Add(const TaskBlock *block) noexcept {
        block->count == 1 ? m_singles.Add(block->index) : m_blocks.Add(block->index);
    }

private:
    TaskBlockPool<1>::Returns m_singles;
    TaskBlockPool<kTasksPerBlock>::Returns m_blocks;
};

/// Bind: `count` pinned tasks begin, or waits that must end on this worker. Unbind: one of them is
/// over. An attached thread detaches only when none is left. Bind returns false if the thread is
/// not attached, or is detaching.
bool Bind(Scheduler &scheduler, Worker &target, uint32_t count) noexcept;
void Unbind(Scheduler &scheduler, Worker *caller, Worker &target) noexcept;

}  // namespace weft::internal
