// AddTasksAfter and Withdraw: they check the arguments, and call functions of wait/deferred.h.
#include "scheduler/api/internal_api.h"
#include "scheduler/wait/deferred.h"
#include "weft/deferred.h"

namespace weft {

using namespace internal;

namespace {

// Returns false, after a report, if a counter is null, or if the tasks would wait for themselves.
bool AreTargets(const TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                uint32_t count, const Counter *counter) noexcept {
    if (afterCount != 0 && after == nullptr) return IsCounter(scheduler, nullptr, "AddTasksAfter");
    for (uint32_t i = 0; i < afterCount; ++i) {
        if (!IsCounter(scheduler, after[i].counter, "AddTasksAfter")) return false;
        if (after[i].counter != counter || after[i].value >= count) continue;
        ReportMistake(EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
                      "Give a value of at least the number of tasks, or let another counter count "
                      "the tasks.",
                      "AddTasksAfter: the %u tasks would wait for themselves, because `after` "
                      "counts them as well",
                      count);
        return false;
    }
    return true;
}

}  // namespace

bool AddTasksAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                   uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept {
    if (handle != nullptr) *handle = {};
    if (count == 0) return true;
    if (!AreTargets(scheduler, afterCount, after, count, counter)) return false;
    const Caller caller(scheduler, "AddTasksAfter");
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), count, tasks, options, "AddTasksAfter") &&
           SubmitBatchAfter(*caller.Running(), caller.TheWorker(), afterCount, after, count, tasks,
                            counter, options, handle);
}

bool Withdraw(TaskScheduler &scheduler, DeferredHandle handle) noexcept {
    const Caller caller(scheduler, "Withdraw");
    return caller.MaySubmit() && WithdrawBatch(*caller.Running(), caller.TheWorker(), handle, true);
}

}  // namespace weft
