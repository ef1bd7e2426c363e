// Implements DescribeWaiters: tells what the tasks wait for.
#include "scheduler/api/internal_api.h"
#include "scheduler/diagnose/wait_graph.h"
#include "scheduler/diagnose/watch.h"
#include "weft/inspect.h"

namespace weft {

using namespace internal;

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
    for (uint32_t i = 0; i < graph.Count(); ++i) tell(graph.At(i), user);
    return graph.Count();
}

}  // namespace weft
