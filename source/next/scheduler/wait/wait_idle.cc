// Implements wait_idle.h. run/idle_requests.h has the answers.
#include "scheduler/wait/wait_idle.h"

#include "scheduler/run/idle_requests.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

// The request is pushed before its caller checks for a sleeper to answer it. A worker that becomes
// idle checks the requests after it has finished what it ran.
void WaitIdleExternal(EntryGate::Visit &visit, Scheduler &scheduler) noexcept {
    IdleRequest request;
    scheduler.idleRequests.Push(&request);      // [order]
    WakeOne(scheduler, nullptr, kPlainLevels);  // [re-check]
    // Without workers only an attached thread can become idle. It may be busy with the host's code,
    // or no thread is attached. So this thread answers the request itself. The attached thread
    // takes a place in the order of the idle state when it has finished something
    // (AnswerBeforeHost, or its announcement). If that place comes before JoinOrder here, this
    // thread sees what has finished. If it comes later, the attached thread sees the request.
    if (scheduler.workerCount == 0) {
        scheduler.idle.JoinOrder();
        AnswerIdleRequests(scheduler, nullptr);
    }
    WaitExternal(visit, scheduler, request.counter, 0);
}

void WaitIdleHere(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    IdleRequest request;
    request.isTask = !worker.current->IsThreadStack();
    scheduler.idleRequests.Push(&request);
    WaitFor what{request.counter};
    what.kind = WaitKind::Idle;
    Wait(worker, what);
}

}  // namespace weft::internal
