#include "scheduler/wait/idle_requests.h"

#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"

namespace weft::internal {

namespace {

// Answers all requests if nothing is pending but the tasks that ask here; these do not finish
// before.
bool AnswerOrGiveBack(Scheduler &scheduler, Worker *worker) noexcept {
    // seq_cst: who asks pushes, and then looks for somebody who sleeps; who comes here has
    // announced that it does.
    if (scheduler.idleRequests.IsEmpty()) return false;
    // Taken before the question is asked: a request that comes later may come with tasks that the
    // answer leaves out.
    IdleRequest *requests = scheduler.idleRequests.TakeAll();
    uint64_t tasks = 0;
    for (const IdleRequest *request = requests; request != nullptr; request = request->next)
        tasks += request->isTask;
    const bool idle = PendingTasks(scheduler) == tasks;
    while (requests != nullptr) {
        IdleRequest *request = requests;
        requests = request->next;  // answered, it is gone
        if (idle) {
            LowerCounter(scheduler, worker, request->counter, 1);
        } else {
            scheduler.idleRequests.Push(request);
        }
    }
    return idle;
}

}  // namespace

// By one at a time: of two who held a part each neither could answer, since the tasks of the other
// part are pending, and each would rely on the other to look again. Who comes meanwhile is counted,
// and makes the one look again.
bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept {
    // acquire and release, here and below: what each that came before had finished, and asked.
    if (scheduler.answering.fetch_add(1, kAcqRel) != 0) return false;
    bool any = false;
    for (uint32_t come = 1;;) {
        if (AnswerOrGiveBack(scheduler, worker)) any = true;
        if (scheduler.answering.compare_exchange_strong(come, 0, kAcqRel, kAcquire)) return any;
    }
}

// A request is pushed before somebody is woken for it, and who is woken and finds nothing announces
// and asks. Either that comes later in the order of the idle state than our place, and sees what we
// finished; or we see the request.
void AnswerBeforeHost(Worker *worker) noexcept {
    FlushPending(worker);
    worker->scheduler->idle.JoinOrder();
    AnswerIdleRequests(*worker->scheduler, worker);
}

}  // namespace weft::internal
