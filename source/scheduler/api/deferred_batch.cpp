// AddTasksAfter and Withdraw: they check the arguments, and call functions of wait/deferred.h.
#include "scheduler/api/internal_api.h"
#include "scheduler/run/ending.h"
#include "scheduler/wait/deferred.h"
#include "weft/deferred.h"

namespace weft {

using namespace internal;

bool AddTasksAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                   uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept {
    if (handle != nullptr) *handle = {};
    if (count == 0) return true;
    if (!AreTargets(scheduler, afterCount, after, count, counter, "AddTasksAfter")) return false;
    const Caller caller(scheduler, "AddTasksAfter");
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), count, tasks, options, "AddTasksAfter") &&
           MayDefer(*caller.Running(), options, "AddTasksAfter") &&
           SubmitBatchAfter(*caller.Running(), caller.TheWorker(), afterCount, after, count, tasks,
                            counter, options, handle);
}

bool Withdraw(TaskScheduler &scheduler, DeferredHandle handle) noexcept {
    const Caller caller(scheduler, "Withdraw");
    return caller.MaySubmit() && WithdrawBatch(*caller.Running(), caller.TheWorker(), handle, true);
}

}  // namespace weft
