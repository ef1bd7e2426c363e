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

// Sleeps until somebody tells it, or until the deadline. False if nobody has told it by then. Between `leave` and `comeBack`
// the thread is out of the gate.
template <class Leave, class ComeBack>
bool ParkOutside(Scheduler &scheduler, Counter &counter, uint32_t place, uint64_t deadline, Leave leave,
                 ComeBack comeBack) noexcept {
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
    const bool takenBack = scheduler.counters.Remove(CounterAccess::Word(counter), kThreadOwner | place, woken);
    WakeOwners(scheduler, nullptr, woken);
    if (!takenBack) parker.Park();  // its record was taken: it is being told, and the place is used again after that
    return !takenBack;
}

// Sleeps until the counter was at or below `value`, or until the deadline: then false, and after a report.
template <class Leave, class ComeBack>
bool Block(Scheduler &scheduler, Counter &counter, uint32_t value, uint64_t deadline, Leave leave,
           ComeBack comeBack) noexcept {
    using Registration = CounterWaiting::Registration;
    const uint32_t place = scheduler.threadWaiters.Take();
    Registration result = Registration::NoRecord;
    if (place != SegmentPool<ThreadWaiter>::kNone) {
        result = scheduler.counters.RegisterOther(CounterAccess::Word(counter), kThreadOwner | place, value);
    }
    bool inTime = true;
    switch (result) {
        case Registration::Satisfied:
            break;
        case Registration::Waiting:
            inTime = ParkOutside(scheduler, counter, place, deadline, leave, comeBack);
            break;
        case Registration::OtherScheduler:
            ReportCounterOfOther(scheduler, "WaitForCounter", counter);
            inTime = false;
            break;
        case Registration::NoRecord:  // nobody can wake this thread: it looks by itself
            ReportOnce(scheduler, ReportCode::OutOfMemory, "Let fewer threads wait at once, or attach them.",
                       "there is no record for another thread that waits (4,096 at most); it polls");
            leave();
            for (Turns turns; !(inTime = IsSatisfied(counter, value)); turns.Next()) {
                if (deadline != Timers::kNever && env::Now() >= deadline) break;
            }
            comeBack();
            break;
    }
    if (place != SegmentPool<ThreadWaiter>::kNone) scheduler.threadWaiters.GiveBack(place);
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
        ReportOnce(scheduler, ReportCode::NobodyRuns, "Attach a thread that runs the tasks, or give it workers.",
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

// A request is pushed before its caller looks for somebody to answer it, and whoever becomes idle looks at the requests
// after it has finished what it ran.
void WaitIdleForeign(Gate::Visit &visit, Scheduler &scheduler) noexcept {
    IdleRequest request;
    scheduler.idleRequests.Push(&request);  // [order]
    WakeForAny(scheduler, nullptr);         // [re-check]
    // Nobody but the attached thread becomes idle then, and it may be busy with the host's work, or there is none. Whatever
    // it has finished it finished before its last place (AnswerBeforeHost, or its announcement), or it sees the request.
    if (scheduler.workerCount == 0) {
        scheduler.idle.TakePlace();
        AnswerIdleRequests(scheduler, nullptr);
    }
    WaitForeign(visit, scheduler, request.counter, 0);
    race::SawAll(&scheduler);
}

void WaitIdleHere(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    IdleRequest request;
    request.isTask = !worker->current->IsHost();
    // acquire and release: who counts this task out has counted it in, see AnswerIdleRequests.
    if (request.isTask) scheduler.idleTasks.fetch_add(1, kAcqRel);
    worker->current->waitsForIdle.store(true, kRelaxed);  // for reports
    scheduler.idleRequests.Push(&request);
    Fiber *self = worker->current;
    Wait(worker, request.counter, 0, Resume::AnyWorker);
    self->waitsForIdle.store(false, kRelaxed);
    race::SawAll(&scheduler);
}

namespace {

constexpr uint64_t kLeft = uint64_t{1} << 32;

// Whether nothing is pending but tasks that are in WaitIdle. These are read first: they are submitted and not finished, if none
// has left meanwhile. One that has, and was seen to have finished, was seen to have left before (acquire, in PendingTasks).
// seq_cst: who answers one after this look sees the requests that were pushed before it.
bool OnlyIdleTasks(const Scheduler &scheduler) noexcept {
    const uint64_t before = scheduler.idleTasks.load(kSeqCst);
    return PendingTasks(scheduler) == before % kLeft && scheduler.idleTasks.load(kRelaxed) / kLeft == before / kLeft;
}

}  // namespace

bool AnswerIdleRequests(Scheduler &scheduler, Worker *worker) noexcept {
    bool any = false;
    while (!scheduler.idleRequests.IsEmpty()) {
        // seq_cst: who finds the list empty because of this looks at the count next, see LookForTrouble.
        scheduler.answering.fetch_add(1, kSeqCst);
        // Taken before the question is asked: a request that comes later may come with tasks that the answer leaves out.
        IdleRequest *requests = scheduler.idleRequests.TakeAll();
        const bool idle = OnlyIdleTasks(scheduler);
        for (IdleRequest *request = requests; request != nullptr;) {
            IdleRequest *next = request->next;  // answered, it is gone
            if (!idle) {
                scheduler.idleRequests.Push(request);
            } else {
                if (request->isTask) scheduler.idleTasks.fetch_add(kLeft - 1, kSeqCst);  // before it can finish
                LowerCounter(scheduler, worker, request->counter, 1);
                any = true;
            }
            request = next;
        }
        scheduler.answering.fetch_sub(1, kSeqCst);
        if (idle) continue;
        // Who finished the last task meanwhile may have found the list empty. seq_cst: either it sees them now, or its
        // announcement is in this state, and with it (release) what it finished.
        scheduler.idle.Snapshot();
        if (!OnlyIdleTasks(scheduler)) break;
    }
    return any;
}

// A request is pushed before somebody is woken for it, and who is woken and finds nothing announces and asks. Either that
// comes later in the order of the idle state than our place, and sees what we finished; or we see the request.
void AnswerBeforeHost(Worker *worker) noexcept {
    FlushPending(worker);
    worker->scheduler->idle.TakePlace();
    AnswerIdleRequests(*worker->scheduler, worker);
}

}  // namespace weft::internal
