// The end of a run, and the answers to WaitIdle.
#include "scheduler/run/run.h"

#include "scheduler/state/entry_gate.h"
#include "scheduler/submit/wake.h"

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
    while (IdleRequest *const request = requests) {
        requests = request->next;  // the request is gone after its answer
        if (idle)
            Lower(scheduler, worker, request->counter, 1);
        else
            scheduler.idleRequests.Push(request);
    }
    return idle;
}

}  // namespace

void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt) noexcept {
    const uint64_t grace = uint64_t{scheduler.options.stopGraceMilliseconds} * 1'000'000;
    const uint64_t now = env::Now(), closesAt = now + grace;
    scheduler.lateEnd.wantedAt = now;
    scheduler.lateEnd.withdrawsAt = withdrawsAt;
    scheduler.closesAt.store(closesAt, kRelaxed);  // published by the next store
    scheduler.endWanted.store(true, kSeqCst);
    // With an order, time passes as soon as nothing runs. So no task waits for a time for long.
    if (scheduler.order != nullptr) return;
    SetTimer(scheduler, worker, scheduler.lateEnd.timer,
             withdrawsAt != Timers::kNever ? withdrawsAt : closesAt);
}

bool EndRun(Scheduler &scheduler, Worker *worker) noexcept {
    const auto isOver = [&] {
        return scheduler.endWanted.load(kSeqCst) && scheduler.guests.count.load(kSeqCst) == 0 &&
               PendingTasks(scheduler) == 0;
    };
    if (!isOver() || !EntryGate::Close(*scheduler.taskScheduler, isOver)) return false;
    scheduler.stopping.store(true, kSeqCst);  // before any worker is woken
    WakeAll(scheduler, worker);
    return true;
}

// Sums up the ended tasks first, then the submitted ones.
//
// Suppose both sums are equal and a task T is unfinished. T is not among the ended tasks. Because
// the sums are equal, T's submission was not among the submissions that were read. T's submitter is
// not among the ended tasks either: reading its end (acquire) would have shown the submission. So
// the submitter is unfinished too, and its own submission was not read. The same holds for its
// submitter, and so on up to the main task. But the submission of the main task is always read: a
// contradiction.
//
// External threads submit without being tasks. A caller that relies on the sums reads them while
// the gate is closed and no thread is inside it, so that all submissions of external threads are
// read. Or it needs only "at some moment of my call".
uint64_t PendingTasks(const Scheduler &scheduler, env::Atomic<uint64_t> Worker::*of) noexcept {
    uint64_t ended = 0, submitted = 0;
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) ended += (scheduler.workers[i].*of).load(kAcquire);
    slots = scheduler.Slots();  // a thread may have attached since then
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.submittedOutside.load(kAcquire) - ended;
}

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
