// Tasks that do not go to the caller's own deque: from threads that are no workers, and to one
// worker alone.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Raises `counter` and hands copies of the tasks to whichever worker looks first, or, if
/// options.worker is given, to that one. `worker`: the caller's, or null. The arguments have been
/// checked. False if it was refused (reported). A task that is pinned to the caller's own thread is
/// taken also while that thread detaches. Lock-free, but where more blocks of 30 tasks, or single
/// ones, are under way than ever before (64 to begin with): then one thread allocates more, and the
/// others wait for it.
bool Post(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
          const TaskOptions &options) noexcept;

/// The unit of a counter that stands for a submitted task: a new unit, or the unit of the
/// submitting task, which ends right after.
enum class Unit : uint8_t { New, OfCaller };
struct CountedBy {
    Counter *counter;  // or null
    Unit unit;
};

/// The same for one task that is to be submitted later, in two steps: it counts as submitted after
/// the first, and is visible after the second. Prepare returns null if it was refused (reported).
/// The caller has flushed what was pending on `worker`.
TaskBlock *Prepare(Scheduler &scheduler, Worker *worker, const Task &task, CountedBy counted,
                   const TaskOptions &options) noexcept;

/// Takes back the claim of a pinned task that cannot run now: it comes first again.
void PostClaimAgain(Worker *worker) noexcept;

/// Blocks whose tasks the worker has read: they go back to their pools together.
class ReadBlocks {
public:
    explicit ReadBlocks(Worker *worker) noexcept
        : m_singles(worker->scheduler->singles, worker->index),
          m_blocks(worker->scheduler->blocks, kNoCache) {}
    void Add(const TaskBlock *block) noexcept {
        block->count == 1 ? m_singles.Add(block->place) : m_blocks.Add(block->place);
    }

private:
    TaskBlockPool<1>::Returns m_singles;
    TaskBlockPool<kTasksPerBlock>::Returns m_blocks;
};

/// `count` pinned tasks, or waits that must end on that worker, begin; or one is over. An attached
/// thread detaches only when there is none. Bind is false if the thread is not attached, or is
/// detaching.
bool Bind(Scheduler &scheduler, Worker &target, uint32_t count) noexcept;
void Unbind(Scheduler &scheduler, Worker *caller, Worker &target) noexcept;

}  // namespace weft::internal
