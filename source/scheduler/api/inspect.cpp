// Implements weft/inspect.h. All loads are relaxed: the figures are only shown.
#include "weft/inspect.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/find/stall.h"
#include "scheduler/find/wait_graph.h"
#include "scheduler/state/reporting.h"

namespace weft {

using namespace internal;

namespace {

WorkerStatistics StatisticsOf(const Worker &worker) noexcept {
    WorkerStatistics statistics;
    const uint64_t direct = worker.directTasks.load(kRelaxed);
    statistics.submitted = worker.submitted.load(kRelaxed) + direct;
    statistics.finished = worker.finished.load(kRelaxed) + direct;
    statistics.inlineRuns = worker.inlineRuns.load(kRelaxed) + direct;
    statistics.suspensions = worker.suspensions.load(kRelaxed);
    statistics.steals = worker.steals.load(kRelaxed);
    statistics.sleeps = worker.sleeps.load(kRelaxed);
    statistics.wakes = worker.wakes.load(kRelaxed);
    return statistics;
}

void Add(WorkerStatistics &sum, const WorkerStatistics &more) noexcept {
    sum.submitted += more.submitted;
    sum.finished += more.finished;
    sum.inlineRuns += more.inlineRuns;
    sum.suspensions += more.suspensions;
    sum.steals += more.steals;
    sum.sleeps += more.sleeps;
    sum.wakes += more.wakes;
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

}  // namespace

Statistics GetStatistics(TaskScheduler &taskScheduler) noexcept {
    Statistics statistics;
    const Caller caller(taskScheduler, "GetStatistics");
    const Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return statistics;
    for (uint32_t i = 0; i < scheduler->Slots(); ++i)
        Add(statistics.total, StatisticsOf(scheduler->workers[i]));
    statistics.submittedOutside = scheduler->externalSubmitted.load(kRelaxed);
    const uint64_t submitted = statistics.total.submitted + statistics.submittedOutside;
    const uint64_t finished = statistics.total.finished;
    statistics.pendingTasks = submitted > finished ? submitted - finished : 0;
    statistics.workers = scheduler->workerCount;
    statistics.attachedThreads = scheduler->attached.Value();
    CountFibers(*scheduler, statistics);
    return statistics;
}

WorkerStatistics GetWorkerStatistics(TaskScheduler &taskScheduler, uint32_t worker) noexcept {
    const Caller caller(taskScheduler, "GetWorkerStatistics");
    const Scheduler *scheduler = caller.Running();
    if (scheduler == nullptr) return {};
    if (worker < scheduler->slotCount) return StatisticsOf(scheduler->workers[worker]);
    ReportMistake(scheduler->options, ReportCode::BadOption,
                  "Give the index of a worker or of an attached thread.",
                  "GetWorkerStatistics: worker %u of %u", worker, scheduler->slotCount);
    return {};
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
