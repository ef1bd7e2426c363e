// Implements external.h. An external thread sleeps on the parker of a ThreadWaiter, whose wait
// record lies on the counter. A task of another scheduler leaves its fiber instead.
#include "scheduler/wait/external.h"

#include "platform/backoff.h"
#include "scheduler/state/external_call.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

// Returns false after the deadline if no waker had taken the record by then.
bool ParkOutside(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t index,
                 uint64_t deadline) noexcept {
    env::Parker &parker = scheduler.threadWaiters.At(index).parker;
    visit.GoOut();
    const bool told =
        deadline != Timers::kNever ? parker.ParkUntil(deadline) : (parker.Park(), true);
    visit.ComeBack();
    if (told) return true;
    if (scheduler.counters.Remove(CounterAccess::Word(counter), kThreadOwner | index)) return false;
    parker.Park();  // a waker has taken the record, and its Unpark is on the way
    return true;
}

// The same for a task of another scheduler, whose fiber is left. It comes back to its thread,
// because the calls of a thread are nested (env::CallSlot). Its scheduler is not stalled meanwhile:
// that is outside work there.
bool SuspendOutside(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t index,
                    uint64_t deadline, Worker &mine) noexcept {
    Counter &told = scheduler.threadWaiters.At(index).task->told;
    auto &outside = EntryGate::StateOf(*mine.scheduler->taskScheduler).outside;
    outside.fetch_add(1, kRelaxed);  // both: see ExternalWork
    ExternalCall *const call = static_cast<ExternalCall *>(env::CallSlot());
    const auto wait = [&](uint64_t until) {
        env::ExchangeCallSlot(call->Outer());
        visit.GoOut();
        const bool isTold = Wait(mine, {told, 0, until, ResumeOn::SameWorker});
        visit.ComeBack();
        env::ExchangeCallSlot(call);
        return isTold;
    };
    const bool reached = wait(deadline) || (!scheduler.counters.Remove(CounterAccess::Word(counter),
                                                                       kThreadOwner | index) &&
                                            wait(Timers::kNever));  // a waker has taken the record
    outside.fetch_sub(1, kRelease);
    return reached;
}

// Returns the worker if the caller is a task of another scheduler that may be suspended, else null.
Worker *OtherWorker() noexcept {
    Worker *const worker = CurrentWorker();
    const bool may = worker != nullptr && !worker->inHook && worker->noSuspend == nullptr &&
                     worker->scheduler->order == nullptr && *worker->home != nullptr;
    return may ? worker : nullptr;
}

// There is no record for the thread. It looks again and again.
bool Poll(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
          uint64_t deadline) noexcept {
    ReportOnce(scheduler, ReportCode::OutOfMemory,
               "Let fewer threads wait at once, or attach them.",
               "there is no wait record for another thread (4,096 at most); the thread polls");
    visit.GoOut();
    bool reached;
    for (Backoff backoff; !(reached = IsReached(counter, value)); backoff.Next()) {
        if (deadline != Timers::kNever && env::Now() >= deadline) break;
    }
    visit.ComeBack();
    return reached;
}

bool Block(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
           uint64_t deadline, Worker *mine = nullptr) noexcept {
    using Registration = Counters::Registration;
    const uint32_t index = scheduler.threadWaiters.Take();
    if (index == SegmentPool<ThreadWaiter>::kNone)
        return Poll(visit, scheduler, counter, value, deadline);
    OtherTask task{mine != nullptr ? mine->scheduler : nullptr};
    ThreadWaiter &waiter = scheduler.threadWaiters.At(index);
    waiter.waitsFor.store(&counter, kRelaxed);  // for reports
    waiter.task = mine != nullptr ? &task : nullptr;
    const Registration result = scheduler.counters.RegisterOther(
        CounterAccess::Word(counter), kThreadOwner | index, value, Priority::Normal);
    bool reached = result == Registration::Satisfied;
    if (result == Registration::Waiting)
        reached = mine != nullptr
                      ? SuspendOutside(visit, scheduler, counter, index, deadline, *mine)
                      : ParkOutside(visit, scheduler, counter, index, deadline);
    waiter.task = nullptr;
    waiter.waitsFor.store(nullptr, kRelaxed);
    scheduler.threadWaiters.GiveBack(index);
    if (result == Registration::OtherScheduler)
        ReportWrongScheduler(scheduler, "WaitForCounter", counter);
    if (result == Registration::NoRecord) return Poll(visit, scheduler, counter, value, deadline);
    return reached;
}

}  // namespace

// seq_cst: before the caller leaves the gate, see EntryGate::Close.
void BecomeGuest(Scheduler &scheduler) noexcept {
    RaiseNow(scheduler, scheduler.guestsLeft, 1);
    scheduler.guests.fetch_add(1, kSeqCst);
}

// This write comes before the check for sleepers. A worker announces its sleep and then reads
// `guests`. So either that worker reads the new value, or this thread wakes it.
void CeaseGuest(Scheduler &scheduler) noexcept {
    scheduler.guests.fetch_sub(1, kSeqCst);                                            // [order]
    if (scheduler.endWanted.load(kSeqCst)) WakeOne(scheduler, nullptr, kPlainLevels);  // [re-check]
    Lower(scheduler, nullptr, scheduler.guestsLeft, 1);
}

bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                  uint64_t deadline) noexcept {
    if (IsReached(counter, value)) {
        Emit(scheduler, nullptr, TraceKind::Satisfied, &counter, value);
        return true;
    }
    if (scheduler.workerCount == 0 && scheduler.attached.IsZero()) {
        ReportOnce(scheduler, ReportCode::NoWorkers,
                   "Attach a thread that runs the tasks, or give the scheduler workers.",
                   "a thread waits, but there are no workers and nobody is attached");
    }
    Emit(scheduler, nullptr, TraceKind::Wait, &counter, value);
    BecomeGuest(scheduler);
    const bool reached = Block(visit, scheduler, counter, value, deadline, OtherWorker());
    CeaseGuest(scheduler);
    Emit(scheduler, nullptr, TraceKind::Resume, &counter, value);
    return reached;
}

// The caller is Stop, which ends the run itself. So it need not be in the gate.
void AwaitDetached(Scheduler &scheduler) noexcept {
    EntryGate::Visit visit(*scheduler.taskScheduler);
    visit.ComeBack();
    Block(visit, scheduler, scheduler.attached, 0, Timers::kNever);
    visit.GoOut();
}

void ExternalCall::Leave() noexcept {
    if (running == nullptr) return;
    BecomeGuest(*running);
    visit.GoOut();
}

void ExternalCall::Return() noexcept {
    if (running == nullptr) return;
    visit.ComeBack();
    CeaseGuest(*running);
}

void LeaveCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) call->Leave();
}

void ReturnToCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) call->Return();
}

}  // namespace weft::internal
