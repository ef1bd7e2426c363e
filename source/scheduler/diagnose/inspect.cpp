// Implements weft/inspect.h. The figures are loaded relaxed: they are only shown.
#include "weft/inspect.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/diagnose/wait_graph.h"
#include "scheduler/diagnose/watch.h"
#include "weft/trace/stack_meter.h"

#include <algorithm>

namespace weft {

using namespace internal;

namespace {

void Add(WorkerStatistics &sum, const Worker &worker) noexcept {
    sum.submitted += worker.submitted.load(kRelaxed);
    sum.finished += worker.ended.load(kRelaxed);
    sum.inlineRuns += worker.figures.inlineRuns.load(kRelaxed);
    sum.suspensions += worker.figures.suspensions.load(kRelaxed);
    sum.steals += worker.figures.steals.load(kRelaxed);
    sum.sleeps += worker.figures.sleeps.load(kRelaxed);
    sum.wakes += worker.figures.wakes.load(kRelaxed);
}

void AddStackUse(const StackUse &use, void *statistics) noexcept {
    size_t &most = static_cast<Statistics *>(statistics)->stackUsed;
    most = std::max(most, use.bytes);
}

}  // namespace

Statistics GetStatistics(TaskScheduler &taskScheduler) noexcept {
    Statistics statistics;
    const Caller caller(taskScheduler, "GetStatistics");
    const Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return statistics;
    for (uint32_t i = 0; i < scheduler->Slots(); ++i) Add(statistics.total, scheduler->workers[i]);
    statistics.submittedOutside = scheduler->submittedOutside.load(kRelaxed);
    statistics.pendingTasks = PendingTasks(*scheduler, &Worker::ended);
    statistics.workers = scheduler->workerCount;
    statistics.attachedThreads = scheduler->guests.attached.Value();
    statistics.fibers = scheduler->fibers.count;
    for (uint32_t i = 0; i < scheduler->fibers.count; ++i) {
        statistics.fibersInUse += IsFree(*scheduler, i) ? 0 : 1;
        statistics.fibersTouched += scheduler->fibers[i].isPrepared.load(kRelaxed) ? 1 : 0;
    }
    if (const StackMeter *const meter = scheduler->options.stackMeter)
        meter->ForEach(AddStackUse, &statistics);
    return statistics;
}

WorkerStatistics GetWorkerStatistics(TaskScheduler &taskScheduler, uint32_t worker) noexcept {
    WorkerStatistics statistics;
    const Caller caller(taskScheduler, "GetWorkerStatistics");
    const Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return statistics;
    if (worker < scheduler->slotCount) {
        Add(statistics, scheduler->workers[worker]);
    } else {
        ReportMistake(scheduler->options, ReportCode::BadOption,
                      "Give the index of a worker or of an attached thread.",
                      "GetWorkerStatistics: worker %u of %u", worker, scheduler->slotCount);
    }
    return statistics;
}

uint32_t DescribeWaiters(TaskScheduler &taskScheduler,
                         void (*tell)(const WaiterInfo &waiter, void *user), void *user) noexcept {
    const Caller caller(taskScheduler, "DescribeWaiters");
    Scheduler *const scheduler = caller.Running();
    if (scheduler == nullptr) return 0;
    if (tell == nullptr) {
        ReportMistake(scheduler->options, ReportCode::NullTask, "Give it a function.",
                      "DescribeWaiters: the function is null");
        return 0;
    }
    const WaitGraph graph(*scheduler, AllIdle(*scheduler));
    if (!graph.IsComplete()) {
        ReportMistake(scheduler->options, ReportCode::OutOfMemory, "Try again later.",
                      "DescribeWaiters: there is no memory to describe the waiting tasks");
    }
    for (const WaiterInfo &waiter : graph) tell(waiter, user);
    return graph.Count();
}

}  // namespace weft
