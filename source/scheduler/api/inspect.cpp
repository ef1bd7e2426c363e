// Implements weft/inspect.h. All loads here are relaxed: the figures are only shown.
#include "weft/inspect.h"

#include "weft/trace/stack_meter.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/find/stall.h"
#include "scheduler/find/wait_graph.h"
#include "scheduler/state/reporting.h"

#include <algorithm>

namespace weft {

using namespace internal;

namespace {

void Add(WorkerStatistics &sum, const Worker &worker) noexcept {
    const uint64_t direct = worker.directTasks.load(kRelaxed);
    sum.submitted += worker.submitted.load(kRelaxed) + direct;
    sum.finished += worker.finished.load(kRelaxed) + direct;
    sum.inlineRuns += worker.inlineRuns.load(kRelaxed) + direct;
    sum.suspensions += worker.suspensions.load(kRelaxed);
    sum.steals += worker.steals.load(kRelaxed);
    sum.sleeps += worker.sleeps.load(kRelaxed);
    sum.wakes += worker.wakes.load(kRelaxed);
}

void CountFibers(const Scheduler &scheduler, Statistics &statistics) noexcept {
    const uint32_t small = scheduler.options.smallFibers;
    statistics.smallFibers = statistics.smallFibersInUse = small;
    statistics.largeFibers = statistics.largeFibersInUse = scheduler.options.largeFibers;
    scheduler.pool.ForFree([&](uint32_t fiber) {
        uint32_t &used = fiber < small ? statistics.smallFibersInUse : statistics.largeFibersInUse;
        used -= used != 0 ? 1 : 0;
    });
    for (uint32_t i = 0; i < scheduler.FiberCount(); ++i) {
        if (!scheduler.fibers[i].hasRunTask.load(kRelaxed)) continue;
        ++(i < small ? statistics.smallFibersTouched : statistics.largeFibersTouched);
    }
}

void AddStackUse(const StackUse &use, void *statistics) noexcept {
    Statistics &to = *static_cast<Statistics *>(statistics);
    size_t &most = use.stack == StackClass::Small ? to.smallStackUsed : to.largeStackUsed;
    most = std::max(most, use.bytes);
}

}  // namespace

Statistics GetStatistics(TaskScheduler &taskScheduler) noexcept {
    Statistics statistics;
    const Caller caller(taskScheduler, "GetStatistics");
    const Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return statistics;
    for (uint32_t i = 0; i < scheduler->Slots(); ++i) Add(statistics.total, scheduler->workers[i]);
    statistics.submittedOutside = scheduler->externalSubmitted.load(kRelaxed);
    statistics.pendingTasks = PendingTasks(*scheduler);
    statistics.workers = scheduler->workerCount;
    statistics.attachedThreads = scheduler->attached.Value();
    CountFibers(*scheduler, statistics);
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
    Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return 0;
    if (tell == nullptr) {
        ReportMistake(scheduler->options, ReportCode::NullTask, "Give it a function.",
                      "DescribeWaiters: the function is null");
        return 0;
    }
    const WaitGraph graph(*scheduler, AllAsleep(*scheduler));
    if (!graph.IsComplete()) {
        ReportMistake(scheduler->options, ReportCode::OutOfMemory, "Try again later.",
                      "DescribeWaiters: there is no memory to describe the waiting tasks");
    }
    for (uint32_t i = 0; i < graph.Count(); ++i) tell(graph.At(i), user);
    return graph.Count();
}

}  // namespace weft
