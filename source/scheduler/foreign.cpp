#include "scheduler/foreign.h"

#include "platform/turns.h"
#include "scheduler/claim.h"
#include "scheduler/idle.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/submit.h"
#include "scheduler/wait.h"

namespace weft::internal {

namespace {

// Sleeps until somebody tells it, or until the deadline. False if nobody has told it by then.
// Between `leave` and `comeBack` the thread is out of the gate.
template <class Leave, class ComeBack>
bool ParkOutside(Scheduler &scheduler, Counter &counter, uint32_t place, uint64_t deadline,
                 Leave leave, ComeBack comeBack) noexcept {
    env::Parker &parker = scheduler.threadWaiters.At(place).parker;
    leave();
    if (deadline == Timers::kNever) {
        parker.Park();
        comeBack();
        return true;
    }
    const bool told = parker.ParkUntil(deadline);
    comeBack();
    if (told) return true;
    uint32_t woken = 0;
    const bool takenBack =
        scheduler.counters.Remove(CounterAccess::Word(counter), kThreadOwner | place, woken);
    WakeOwners(scheduler, nullptr, woken);
    // its record was taken: it is being told, and the place is used again after that
    if (!takenBack) parker.Park();
    return !takenBack;
}

// Sleeps until the counter was at or below `value`, or until the deadline: then false, and after a
// report.
template <class Leave, class ComeBack>
bool Block(Scheduler &scheduler, Counter &counter, uint32_t value, uint64_t deadline, Leave leave,
           ComeBack comeBack) noexcept {
    using Registration = CounterWaiting::Registration;
    const uint32_t place = scheduler.threadWaiters.Take();
    Registration result = Registration::NoRecord;
    if (place != SegmentPool<ThreadWaiter>::kNone) {
        result = scheduler.counters.RegisterOther(CounterAccess::Word(counter),
                                                  kThreadOwner | place, value);
    }
    bool inTime = true;
    // relaxed: for a report.
    if (result == Registration::Waiting)
        scheduler.threadWaiters.At(place).waitsFor.store(&counter, kRelaxed);
    switch (result) {
        case Registration::Satisfied:
            break;
        case Registration::Waiting:
            inTime = ParkOutside(scheduler, counter, place, deadline, leave, comeBack);
            break;
        case Registration::OtherScheduler:
            ReportWrongScheduler(scheduler, "WaitForCounter", counter);
            inTime = false;
            break;
        case Registration::NoRecord:  // nobody can wake this thread: it looks by itself
            ReportOnce(
                scheduler, ReportCode::OutOfMemory,
                "Let fewer threads wait at once, or attach them.",
                "there is no record for another thread that waits (4,096 at most); it polls");
            leave();
            for (Turns turns; !(inTime = IsSatisfied(counter, value)); turns.Next()) {
                if (deadline != Timers::kNever && env::Now() >= deadline) break;
            }
            comeBack();
            break;
    }
    if (place != SegmentPool<ThreadWaiter>::kNone) {
        scheduler.threadWaiters.At(place).waitsFor.store(nullptr, kRelaxed);  // as above
        scheduler.threadWaiters.GiveBack(place);
    }
    return inTime;
}

}  // namespace

void BecomeGuest(Scheduler &scheduler) noexcept {
    RaiseCounter(scheduler, scheduler.guestsLeft, 1);
    scheduler.guests.fetch_add(1, kSeqCst);  // before the caller goes out: see Gate::Close
}

void CeaseGuest(Scheduler &scheduler) noexcept {
    // Before the look at the sleepers, who look at it before they sleep.
    scheduler.guests.fetch_sub(1, kSeqCst);                                 // [order]
    if (scheduler.endWanted.load(kSeqCst)) WakeForAny(scheduler, nullptr);  // [re-check]
    LowerCounter(scheduler, nullptr, scheduler.guestsLeft, 1);
}

bool WaitForeign(Gate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                 uint64_t deadline) noexcept {
    if (IsSatisfied(counter, value)) return true;
    if (scheduler.workerCount == 0 && scheduler.attached.IsZero()) {
        ReportOnce(scheduler, ReportCode::NoWorkers,
                   "Attach a thread that runs the tasks, or give it workers.",
                   "a thread waits, but there are no workers and nobody is attached");
    }
    BecomeGuest(scheduler);
    const bool inTime = Block(
        scheduler, counter, value, deadline, [&] { visit.GoOut(); }, [&] { visit.ComeBack(); });
    if (inTime) race::SawCount(counter);
    CeaseGuest(scheduler);
    return inTime;
}

void AwaitDetached(Scheduler &scheduler) noexcept {
    Block(
        scheduler, scheduler.attached, 0, Timers::kNever, [] {}, [] {});
}

// A request is pushed before its caller looks for somebody to answer it, and whoever becomes idle
// looks at the requests after it has finished what it ran.
void WaitIdleForeign(Gate::Visit &visit, Scheduler &scheduler) noexcept {
    IdleRequest request;
    scheduler.idleRequests.Push(&request);  // [order]
    WakeForAny(scheduler, nullptr);         // [re-check]
    // Nobody but the attached thread becomes idle then, and it may be busy with the host's work, or
    // there is none. Whatever it has finished it finished before its last place (AnswerBeforeHost,
    // or its announcement), or it sees the request.
    if (scheduler.workerCount == 0) {
        scheduler.idle.TakePlace();
        AnswerIdleRequests(scheduler, nullptr);
    }
    WaitForeign(visit, scheduler, request.counter, 0);
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
    worker->scheduler->idle.TakePlace();
    AnswerIdleRequests(*worker->scheduler, worker);
}

}  // namespace weft::internal
