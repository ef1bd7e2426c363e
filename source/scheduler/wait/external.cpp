// Implements external.h. An external thread sleeps on the parker of a ThreadWaiter, whose wait
// record lies on the counter.
#include "scheduler/wait/external.h"

#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

namespace {

// Sleeps until the record's waker calls Unpark, or until the deadline. Returns false after the
// deadline if no waker had taken the record by then. Calls leave() before the sleep and comeBack()
// after it; in between the thread is outside the gate.
template <class Leave, class ComeBack>
bool ParkOutside(Scheduler &scheduler, Counter &counter, uint32_t index, uint64_t deadline,
                 Leave leave, ComeBack comeBack) noexcept {
    env::Parker &parker = scheduler.threadWaiters.At(index).parker;
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
        scheduler.counters.Remove(CounterAccess::Word(counter), kThreadOwner | index, woken);
    WakeOwners(scheduler, nullptr, woken);
    // A waker has taken the record and will call Unpark. The ThreadWaiter may be reused only after
    // that.
    if (!takenBack) parker.Park();
    return !takenBack;
}

// Sleeps until the counter was at or below `value`, or until the deadline. Returns false after the
// deadline, or after a report.
template <class Leave, class ComeBack>
bool Block(Scheduler &scheduler, Counter &counter, uint32_t value, uint64_t deadline, Leave leave,
           ComeBack comeBack) noexcept {
    using Registration = CounterWaiting::Registration;
    const uint32_t index = scheduler.threadWaiters.Take();
    Registration result = Registration::NoRecord;
    if (index != SegmentPool<ThreadWaiter>::kNone) {
        // relaxed: for reports; in an event, the record has published it
        scheduler.threadWaiters.At(index).waitsFor.store(&counter, kRelaxed);
        result = scheduler.counters.RegisterOther(CounterAccess::Word(counter),
                                                  kThreadOwner | index, value);
    }
    bool inTime = true;
    switch (result) {
        case Registration::Satisfied:
            break;
        case Registration::Waiting:
            inTime = ParkOutside(scheduler, counter, index, deadline, leave, comeBack);
            break;
        case Registration::OtherScheduler:
            ReportWrongScheduler(scheduler, "WaitForCounter", counter);
            inTime = false;
            break;
        case Registration::NoRecord:  // no record, so no waker: the thread polls
            ReportOnce(
                scheduler, ReportCode::OutOfMemory,
                "Let fewer threads wait at once, or attach them.",
                "there is no wait record for another thread (4,096 at most); the thread polls");
            leave();
            for (Backoff backoff; !(inTime = IsSatisfied(counter, value)); backoff.Next()) {
                if (deadline != Timers::kNever && env::Now() >= deadline) break;
            }
            comeBack();
            break;
    }
    if (index != SegmentPool<ThreadWaiter>::kNone) {
        // relaxed: for a report
        scheduler.threadWaiters.At(index).waitsFor.store(nullptr, kRelaxed);
        scheduler.threadWaiters.GiveBack(index);
    }
    return inTime;
}

}  // namespace

void BecomeGuest(Scheduler &scheduler) noexcept {
    RaiseCounter(scheduler, scheduler.guestsLeft, 1);
    // before the caller leaves the gate, see EntryGate::Close
    scheduler.guests.fetch_add(1, kSeqCst);
}

void CeaseGuest(Scheduler &scheduler) noexcept {
    // This write comes before the check for sleepers. A worker announces its sleep and then reads
    // `guests`. So either that worker reads the new value, or this thread wakes it.
    scheduler.guests.fetch_sub(1, kSeqCst);                                 // [order]
    if (scheduler.endWanted.load(kSeqCst)) WakeForAny(scheduler, nullptr);  // [re-check]
    LowerCounter(scheduler, nullptr, scheduler.guestsLeft, 1);
}

bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
                  uint64_t deadline) noexcept {
    const auto trace = [&](TraceKind kind) {
        Emit(scheduler, nullptr, kind, [&](TraceEvent &event) {
            event.count = value;
            event.counter = &counter;
        });
    };
    if (IsSatisfied(counter, value)) {
        trace(TraceKind::Satisfied);
        return true;
    }
    trace(TraceKind::Wait);
    if (scheduler.workerCount == 0 && scheduler.attached.IsZero()) {
        ReportOnce(scheduler, ReportCode::NoWorkers,
                   "Attach a thread that runs the tasks, or give the scheduler workers.",
                   "a thread waits, but there are no workers and nobody is attached");
    }
    BecomeGuest(scheduler);
    const bool inTime = Block(
        scheduler, counter, value, deadline, [&] { visit.GoOut(); }, [&] { visit.ComeBack(); });
    if (inTime) race::SawCount(counter);
    trace(TraceKind::Resume);
    CeaseGuest(scheduler);
    return inTime;
}

void AwaitDetached(Scheduler &scheduler) noexcept {
    Block(
        scheduler, scheduler.attached, 0, Timers::kNever, [] {}, [] {});
}

}  // namespace weft::internal
