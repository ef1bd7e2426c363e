// Implements external.h. The thread sleeps on the parker of a ThreadWaiter, whose wait record lies
// on the counter. A task of another scheduler leaves its fiber instead.
#include "scheduler/wait/external.h"

#include "platform/backoff.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/run/run.h"
#include "scheduler/state/external_call.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

using Registration = Counters::Registration;

// Suspends a task of another scheduler. Returns false after the deadline. The task comes back to
// its thread, because the calls of a thread are nested (env::CallSlot). Its scheduler is not
// stalled meanwhile: that is outside work there.
bool SuspendOutside(EntryGate::Visit &visit, Worker &mine, Counter &told,
                    uint64_t deadline) noexcept {
    auto &outside = EntryGate::StateOf(*mine.scheduler->taskScheduler).outside;
    outside.fetch_add(1, kRelaxed);  // both: see ExternalWork
    ExternalCall *const call = static_cast<ExternalCall *>(env::CallSlot());
    env::ExchangeCallSlot(call->Outer());
    visit.GoOut();
    const bool isTold = Wait(mine, {told, 0, deadline, WaitKind::Counter, ResumeOn::SameWorker});
    visit.ComeBack();
    env::ExchangeCallSlot(call);
    outside.fetch_sub(1, kRelease);
    return isTold;
}

// Returns the worker if the caller is a task of another scheduler that may be suspended, else null.
Worker *OtherWorker() noexcept {
    Worker *const worker = CurrentWorker();
    const bool may = worker != nullptr && !worker->inHook && worker->noSuspend == nullptr &&
                     worker->scheduler->order == nullptr && *worker->home != nullptr;
    return may ? worker : nullptr;
}

// There is no record for the thread. It looks again and again.
bool Poll(EntryGate::Visit &visit, Scheduler &scheduler, const WaitFor &what) noexcept {
    ReportOnce(scheduler, ReportCode::OutOfMemory,
               "Let fewer threads wait at once, or attach them.",
               "there is no wait record for another thread (4,096 at most); the thread polls");
    visit.GoOut();
    bool reached;
    for (Backoff backoff; !(reached = IsReached(what.counter, what.value)); backoff.Next()) {
        if (what.deadline != Timers::kNever && env::Now() >= what.deadline) break;
    }
    visit.ComeBack();
    return reached;
}

// Waits with a record of the thread. `worker`: the worker whose thread blocks; null for an external
// thread. `task`: the waiting task of another scheduler, or null. park(waiter, deadline) returns
// false at the deadline. Returns Satisfied if the counter was reached, and Waiting at the deadline.
template <class Park>
Registration WaitOnThread(Scheduler &scheduler, Worker *worker, OtherTask *task,
                          const WaitFor &what, Park park) noexcept {
    const uint32_t index = scheduler.pools.threadWaiters.Take();
    if (index == SegmentPool<ThreadWaiter>::kNone) return Registration::NoRecord;
    CounterStorage &counter = CounterAccess::Word(what.counter);
    ThreadWaiter &waiter = scheduler.pools.threadWaiters.At(index);
    // relaxed, both: the record publishes them
    waiter.waitsFor.store(worker == nullptr ? &what.counter : nullptr, kRelaxed);
    waiter.isTold.store(false, kRelaxed);
    waiter.target = what.value;
    waiter.kind = what.kind;
    waiter.deadline = what.deadline;
    waiter.task = task;
    Registration result = scheduler.counters.Register(
        counter, kThreadOwner | index, what.value,
        worker != nullptr ? worker->current->level.ThePriority() : Priority::Normal,
        CacheOf(worker));
    if (result == Registration::Waiting &&
        (park(waiter, what.deadline) ||
         // without its record: a waker has taken it, and will call Unpark
         (!scheduler.counters.Remove(counter, kThreadOwner | index, CacheOf(worker)) &&
          park(waiter, Timers::kNever))))
        result = Registration::Satisfied;
    waiter.waitsFor.store(nullptr, kRelaxed);
    scheduler.pools.threadWaiters.GiveBack(index);
    if (result == Registration::Satisfied) race::SawCount(what.counter);
    if (result == Registration::OtherScheduler)
        ReportWrongScheduler(scheduler, "WaitForCounter", what.counter);
    return result;
}

// `mine`: of the task of another scheduler, or null.
bool Block(EntryGate::Visit &visit, Scheduler &scheduler, const WaitFor &what,
           Worker *mine = nullptr) noexcept {
    OtherTask task{mine != nullptr ? mine->scheduler : nullptr};
    const auto park = [&](ThreadWaiter &waiter, uint64_t deadline) {
        if (mine != nullptr) return SuspendOutside(visit, *mine, task.told, deadline);
        visit.GoOut();
        const bool isTold = waiter.parker.ParkUntil(deadline);
        visit.ComeBack();
        return isTold;
    };
    const Registration result =
        WaitOnThread(scheduler, nullptr, mine != nullptr ? &task : nullptr, what, park);
    if (result == Registration::NoRecord) return Poll(visit, scheduler, what);
    return result == Registration::Satisfied;
}

}  // namespace

// seq_cst: before the caller leaves the gate, see EntryGate::Close.
void BecomeGuest(Scheduler &scheduler) noexcept {
    RaiseNow(scheduler, scheduler.guests.left, 1);
    scheduler.guests.count.fetch_add(1, kSeqCst);
}

// This write comes before the check for sleepers. A worker announces its sleep and then reads
// `guests.count`. So either that worker reads the new value, or this thread wakes it.
void CeaseGuest(Scheduler &scheduler) noexcept {
    scheduler.guests.count.fetch_sub(1, kSeqCst);                                      // [order]
    if (scheduler.endWanted.load(kSeqCst)) WakeOne(scheduler, nullptr, kPlainLevels);  // [re-check]
    Lower(scheduler, nullptr, scheduler.guests.left, 1);
}

bool BlockThread(Worker &worker, const WaitFor &what) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    PrepareToBlock(worker);
    if (IsReached(what.counter, what.value)) return true;
    BeginWait(*worker.current, what);
    Emit(scheduler, &worker, TraceKind::Wait, &what.counter, what.value);
    // meanwhile the worker counts as idle (diagnose/stall.cpp)
    const auto park = [&](ThreadWaiter &waiter, uint64_t deadline) {
        worker.rest.blockedOn.store(&waiter, kSeqCst);
        bool isTold;
        uint64_t until;
        do {
            until = std::min(deadline, WatchForStall(scheduler));
            isTold = waiter.parker.ParkUntil(until);
        } while (!isTold && until != deadline);
        worker.rest.blockedOn.store(nullptr, kRelaxed);
        return isTold;
    };
    const Registration result = WaitOnThread(scheduler, &worker, nullptr, what, park);
    if (result == Registration::NoRecord) OutOfMemory(scheduler);
    worker.current->wait.counter.store(nullptr, kRelaxed);
    Emit(scheduler, &worker, TraceKind::Resume, &what.counter, what.value);
    return result == Registration::Satisfied;
}

bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, const WaitFor &what) noexcept {
    if (IsReached(what.counter, what.value)) {
        Emit(scheduler, nullptr, TraceKind::Satisfied, &what.counter, what.value);
        return true;
    }
    if (scheduler.workerCount == 0 && scheduler.guests.attached.IsZero()) {
        ReportOnce(scheduler, ReportCode::NoWorkers,
                   "Attach a thread that runs the tasks, or give the scheduler workers.",
                   "a thread waits, but there are no workers and nobody is attached");
    }
    Emit(scheduler, nullptr, TraceKind::Wait, &what.counter, what.value);
    BecomeGuest(scheduler);
    const bool isReached = Block(visit, scheduler, what, OtherWorker());
    CeaseGuest(scheduler);
    Emit(scheduler, nullptr, TraceKind::Resume, &what.counter, what.value);
    return isReached;
}

// The caller is Stop, which ends the run itself. So it need not be in the gate.
void AwaitDetached(Scheduler &scheduler) noexcept {
    EntryGate::Visit visit(*scheduler.taskScheduler);
    visit.ComeBack();
    Block(visit, scheduler, {scheduler.guests.attached});
    visit.GoOut();
}

// A thread pushes its request before it checks for a sleeper to answer it. A worker that becomes
// idle checks the requests after it has finished what it ran.
void WaitIdle(const WaitingCaller &caller) noexcept {
    Scheduler &scheduler = caller.scheduler;
    IdleRequest request;
    request.isTask = caller.self != nullptr && !caller.self->IsHost();
    scheduler.idleRequests.Push(&request);  // [order]
    // A task wakes nobody: its own worker answers when it is idle.
    if (caller.self == nullptr) WakeOne(scheduler, nullptr, kPlainLevels);  // [re-check]
    // Without workers only an attached thread can become idle. It may be busy with the host's code,
    // or no thread is attached. So this thread answers the request itself. The attached thread
    // takes a place in the order of the idle state when it has finished something
    // (AnswerBeforeHost, or its announcement). If that place comes before JoinOrder here, this
    // thread sees what has finished. If it comes later, the attached thread sees the request.
    if (caller.self == nullptr && scheduler.workerCount == 0) {
        scheduler.idle.JoinOrder();
        AnswerIdleRequests(scheduler, nullptr);
    }
    caller.Wait({request.counter, 0, Timers::kNever, WaitKind::Idle});
    race::SawAll(&scheduler);
}

void LeaveCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) {
        if (call->running == nullptr) continue;
        BecomeGuest(*call->running);
        call->visit.GoOut();
    }
}

void ReturnToCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) {
        if (call->running == nullptr) continue;
        call->visit.ComeBack();
        CeaseGuest(*call->running);
    }
}

}  // namespace weft::internal
