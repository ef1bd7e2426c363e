#include "scheduler/wait/wait_idle.h"

#include "platform/race_finder.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/idle_requests.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

// A request is pushed before its caller looks for somebody to answer it, and whoever becomes idle
// looks at the requests after it has finished what it ran.
void WaitIdleExternal(EntryGate::Visit &visit, Scheduler &scheduler) noexcept {
    IdleRequest request;
    scheduler.idleRequests.Push(&request);  // [order]
    WakeForAny(scheduler, nullptr);         // [re-check]
    // Nobody but the attached thread becomes idle then, and it may be busy with the host's work, or
    // there is none. Whatever it has finished it finished before its last place (AnswerBeforeHost,
    // or its announcement), or it sees the request.
    if (scheduler.workerCount == 0) {
        scheduler.idle.JoinOrder();
        AnswerIdleRequests(scheduler, nullptr);
    }
    WaitExternal(visit, scheduler, request.counter, 0);
    race::SawAll(&scheduler);
}

void WaitIdleHere(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Fiber *self = worker->current;
    IdleRequest request;
    request.isTask = !self->IsHost();
    // relaxed: for reports.
    if (request.isTask) scheduler.idleTasks.fetch_add(1, kRelaxed);
    self->waitsForIdle.store(true, kRelaxed);
    scheduler.idleRequests.Push(&request);
    Wait(worker, request.counter, 0, ResumeOn::AnyWorker);
    self->waitsForIdle.store(false, kRelaxed);
    if (request.isTask) scheduler.idleTasks.fetch_sub(1, kRelaxed);
    race::SawAll(&scheduler);
}

}  // namespace weft::internal
