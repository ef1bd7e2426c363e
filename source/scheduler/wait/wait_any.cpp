// Waits for one of several counters. Each counter gets a wait record. The first one that is reached
// ends the wait (submit/finish.cpp). Then the call takes the others off their counters. It returns
// when no record is on its way any more.
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/wait/external.h"

namespace weft::internal {

namespace {

// Puts a record on a counter. Returns true if it is there now.
bool Register(Scheduler &scheduler, uint32_t user, AnyWait &wait, Counter &counter, uint32_t which,
              Priority priority) noexcept {
    using Registration = Counters::Registration;
    const uint32_t index = scheduler.pools.anyRecords.Take(user);
    Registration result = Registration::NoRecord;
    if (index != scheduler.pools.anyRecords.kNone) {
        scheduler.pools.anyRecords.At(index) = {&wait, which};
        result = scheduler.counters.Register(CounterAccess::Word(counter), kAnyOwner | index, 0,
                                             priority, user);
        if (result == Registration::Waiting) return true;
        scheduler.pools.anyRecords.GiveBack(index, user);
    }
    if (result == Registration::Satisfied) {
        uint32_t none = AnyWait::kNone;
        // relaxed: for this thread
        wait.winner.compare_exchange_strong(none, which, kRelaxed, kRelaxed);
    } else if (result == Registration::OtherScheduler) {
        ReportWrongScheduler(scheduler, "WaitForAny", counter);
    } else {
        ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                      "Let fewer tasks wait for counters at once.",
                      "WaitForAny: there is no memory for another wait record");
    }
    return false;
}

// Takes the wait's record off the counter. While the predicate runs, the record stays there.
bool TakeOff(Scheduler &scheduler, uint32_t user, const AnyWait &wait, Counter &counter) noexcept {
    uint32_t taken = 0;
    const auto wants = [&](uint32_t owner, uint32_t) {
        taken = owner & ~kOwnerKind;
        return (owner & kOwnerKind) == kAnyOwner &&
               scheduler.pools.anyRecords.At(taken).wait == &wait;
    };
    if (scheduler.counters.RemoveIf(CounterAccess::Word(counter), user, wants) == Counters::kNobody)
        return false;
    scheduler.pools.anyRecords.GiveBack(taken, user);
    return true;
}

}  // namespace

uint32_t WaitAny(const WaitingCaller &caller, uint32_t count, Counter *const *counters,
                 uint64_t deadline) noexcept {
    Scheduler &scheduler = caller.scheduler;
    if (caller.self != nullptr) Flush(*caller.self->worker);
    uint32_t reached = 0;
    while (reached < count && !IsReached(*counters[reached], 0)) ++reached;
    if (reached != count) {
        Emit(scheduler, caller.TheWorker(), TraceKind::Satisfied, counters[reached]);
        if (caller.self != nullptr) PassPoint(*caller.self);
        return reached;
    }
    const Priority priority =
        caller.self != nullptr ? caller.self->level.ThePriority() : Priority::Normal;
    AnyWait wait{counters, count};
    RaiseNow(scheduler, wait.all, count);
    uint32_t registered = 0;
    while (registered < count && Register(scheduler, CacheOf(caller.TheWorker()), wait,
                                          *counters[registered], registered, priority))
        ++registered;
    if (registered == count) caller.Wait({wait.first, 0, deadline, WaitKind::Several});
    uint32_t gone = count - registered;
    for (uint32_t i = 0; i < registered; ++i)
        gone += TakeOff(scheduler, CacheOf(caller.TheWorker()), wait, *counters[i]) ? 1 : 0;
    if (gone != 0) Lower(scheduler, caller.TheWorker(), wait.all, gone);
    caller.Wait({wait.all, 0, Timers::kNever, WaitKind::Several});
    const uint32_t winner = wait.winner.load(kAcquire);  // acquire: pairs with ReachAny
    if (winner != AnyWait::kNone) race::SawCount(*counters[winner]);
    return winner != AnyWait::kNone ? winner : count;
}

}  // namespace weft::internal
