#include "scheduler/wait/external.h"

#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/wake.h"

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
            for (Backoff backoff; !(inTime = IsSatisfied(counter, value)); backoff.Next()) {
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
    scheduler.guests.fetch_add(1, kSeqCst);  // before the caller goes out: see EntryGate::Close
}

void CeaseGuest(Scheduler &scheduler) noexcept {
    // Before the look at the sleepers, who look at it before they sleep.
    scheduler.guests.fetch_sub(1, kSeqCst);                                 // [order]
    if (scheduler.endWanted.load(kSeqCst)) WakeForAny(scheduler, nullptr);  // [re-check]
    LowerCounter(scheduler, nullptr, scheduler.guestsLeft, 1);
}

bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, Counter &counter, uint32_t value,
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

}  // namespace weft::internal
