// Implements idle_requests.h.
#include "scheduler/run/idle_requests.h"

#include "scheduler/submit/finish.h"

namespace weft::internal {

namespace {

// Answers all requests if nothing is pending but the tasks that wait in these requests. Otherwise
// puts the requests back. Such a task cannot finish before it is answered.
bool AnswerOrGiveBack(Scheduler &scheduler, Worker *worker) noexcept {
    // seq_cst: the caller of WaitIdle pushes its request, and then checks for sleepers. A worker
    // that comes here has announced its sleep, so one of the two sees the other.
    if (scheduler.idleRequests.IsEmpty()) return false;
    // The requests are taken before the counts are read. A request that comes later may come with
    // new tasks, which these counts leave out.
    IdleRequest *requests = scheduler.idleRequests.TakeAll();
    uint64_t tasks = 0;
    for (const IdleRequest *request = requests; request != nullptr; request = request->next)
        tasks += request->isTask;
    const bool idle = PendingTasks(scheduler) == tasks;
    while (requests != nullptr) {
        IdleRequest *request = requests;
        requests = request->next;  // the request is gone after its answer
        if (idle) {
            Lower(scheduler, worker, request->counter, 1);
        } else {
            scheduler.idleRequests.Push(request);
        }
    }
    return idle;
}

}  // namespace

// Only one worker holds requests at a time. If two workers held a part each, neither could answer,
// because the tasks of the other part are pending, and each would rely on the other to check again.
// A worker that comes meanwhile increments `answering` and returns. The first one then checks
// again.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept {
    // acquire and release, here and below: this worker sees what each worker that came before had
    // finished, and its requests.
    if (scheduler.answering.fetch_add(1, kAcqRel) != 0) return false;
    bool any = false;
    for (uint32_t come = 1;;) {
        if (AnswerOrGiveBack(scheduler, worker)) any = true;
        if (scheduler.answering.compare_exchange_strong(come, 0, kAcqRel, kAcquire)) return any;
    }
}

// WaitIdle pushes its request before it wakes a worker. That worker finds no work, announces its
// sleep and checks the requests. If it announces after JoinOrder here, it sees what this worker has
// finished. If it announces before, this worker sees the request.
void AnswerBeforeHost(Worker &worker) noexcept {
    Flush(worker);
    worker.scheduler->idle.JoinOrder();
    AnswerIdleRequests(*worker.scheduler, &worker);
}

}  // namespace weft::internal
