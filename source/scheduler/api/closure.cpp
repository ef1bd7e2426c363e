// Closures: tasks that keep what they call in a block of a pool.
//
// Each submitted task runs exactly once before the run ends (invariant 1). So each block is
// returned, and the closure in it has been destroyed by then. A worker takes a block from its own
// cache. The worker on which the task ends puts it into its own cache; that can be another worker,
// because a closure may wait.
#include "weft/closure.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/wait/deferred.h"

namespace weft::internal {

namespace {

// Returns the block to the pool.
void Free(Scheduler &scheduler, const Worker *worker, ClosureBlock *block) noexcept {
    race::Frees(block);
    scheduler.pools.closures.GiveBack(block->index, CacheOf(worker));
}

}  // namespace

bool SubmitClosure(TaskScheduler &taskScheduler, void *closure, RelocateClosure relocate,
                   TaskFunction run, Counter *counter, const TaskOptions &options) noexcept {
    return SubmitClosureAfter(taskScheduler, 0, nullptr, closure, relocate, run, counter, options);
}

// StopFor must not withdraw the task: it would leave a Result without a value (weft/data/result.h).
bool SubmitClosureAfter(TaskScheduler &taskScheduler, uint32_t afterCount,
                        const CounterTarget *after, void *closure, RelocateClosure relocate,
                        TaskFunction run, Counter *counter, const TaskOptions &options) noexcept {
    if (!AreTargets(taskScheduler, afterCount, after, 1, counter, "AddTask")) return false;
    const Caller caller(taskScheduler, "AddTask");
    Task task{run, nullptr};
    if (!caller.MaySubmit() || !AreTasks(*caller.Running(), 1, &task, options, "AddTask"))
        return false;
    Scheduler &scheduler = *caller.Running();
    Worker *worker = caller.TheWorker();
    const uint32_t storage = scheduler.pools.closures.Take(CacheOf(worker));
    if (WEFT_UNLIKELY(storage == scheduler.pools.closures.kNone)) {
        ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                      "Give the process more memory, or let fewer closures be pending at once.",
                      "AddTask: there is no memory for another closure; it is not submitted");
        return false;
    }
    ClosureBlock *block = &scheduler.pools.closures.At(storage);
    block->index = storage;
    block->run = run;
    race::Reuses(block);
    relocate(block->room, closure);
    task.arg = block->room;
    const bool isSubmitted =
        afterCount == 0
            ? Submit(scheduler, worker, 1, &task, counter, options)
            : SubmitAfter(scheduler, worker, afterCount, after,
                          {"AddTask", 1, &task, counter, options, nullptr, false, true});
    // The task may have run already, and the block may be in use again.
    if (WEFT_LIKELY(isSubmitted)) return true;
    relocate(closure, block->room);
    Free(scheduler, worker, block);
    return false;
}

void FreeClosure(TaskScheduler &taskScheduler, void *storage) noexcept {
    const Worker *worker = WorkerOf(taskScheduler);
    // The room is the first member of the block. There is no worker in the child process of a task
    // that forked. That process ends without another task.
    if (WEFT_LIKELY(worker != nullptr))
        Free(*worker->scheduler, worker, static_cast<ClosureBlock *>(storage));
}

}  // namespace weft::internal
