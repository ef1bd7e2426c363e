#include "scheduler/wait_any.h"

#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/submit.h"

namespace weft::internal {

namespace {

uint32_t OwnerOf(uint32_t place, uint32_t counter) noexcept { return kAnyOwner | place << 16 | counter; }

// acq_rel: the last to let go comes after all that the others did with it.
void LetGo(Scheduler &scheduler, uint32_t place) noexcept {
    if (scheduler.anyWaits.At(place).references.fetch_sub(1, kAcqRel) == 1) scheduler.anyWaits.GiveBack(place);
}

// One counter is zero. The first to say so opens the gate.
void NoteZero(Scheduler &scheduler, Worker *worker, AnyWait &wait, uint32_t counter) noexcept {
    uint32_t none = ~0u;
    // acq_rel: what was counted is visible to the waiter through the gate.
    if (wait.first.compare_exchange_strong(none, counter, kAcqRel, kRelaxed)) {
        LowerCounter(scheduler, worker, wait.gate, 1);
    }
}

}  // namespace

uint32_t BeginAnyWait(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *const *counters) noexcept {
    const uint32_t place = scheduler.anyWaits.Take();
    bool complete = place != SegmentPool<AnyWait>::kNone;
    if (complete) {
        AnyWait &wait = scheduler.anyWaits.At(place);
        wait.references.store(1, kRelaxed);  // nobody else knows it
        wait.first.store(~0u, kRelaxed);
        RaiseCounter(scheduler, wait.gate, 1);
        for (uint32_t i = 0; i < count && complete && wait.first.load(kRelaxed) == ~0u; ++i) {
            wait.references.fetch_add(1, kRelaxed);  // the record's, before somebody may let go of it
            using Registration = CounterWaiting::Registration;
            const Registration result =
                scheduler.counters.RegisterOther(CounterAccess::Word(*counters[i]), OwnerOf(place, i), 0);
            if (result == Registration::Waiting) continue;
            wait.references.fetch_sub(1, kRelaxed);  // there is no record
            if (result == Registration::Satisfied) NoteZero(scheduler, worker, wait, i);
            if (result == Registration::OtherScheduler) {
                ReportCounterOfOther(scheduler, "WaitForAny", *counters[i]);
                NoteZero(scheduler, worker, wait, count);
            }
            complete = result != Registration::NoRecord;
        }
        if (complete) return place;
        NoteZero(scheduler, worker, wait, count);
    }
    ReportMistake(scheduler.options, ReportCode::OutOfMemory, "Wait for fewer counters at once.",
                  "WaitForAny: more than 4,096 wait records are in use; it does not wait");
    return place;
}

uint32_t EndAnyWait(Scheduler &scheduler, Worker *worker, uint32_t place, uint32_t count,
                    Counter *const *counters) noexcept {
    if (place == SegmentPool<AnyWait>::kNone) return count;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t woken = 0;
        if (scheduler.counters.Remove(CounterAccess::Word(*counters[i]), OwnerOf(place, i), woken))
            LetGo(scheduler, place);
        WakeOwners(scheduler, worker, woken);
    }
    const uint32_t first = scheduler.anyWaits.At(place).first.load(kAcquire);
    LetGo(scheduler, place);
    if (first < count) race::SawCount(*counters[first]);
    return first;
}

void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept {
    const uint32_t place = (owner & ~kAnyOwner) >> 16;
    NoteZero(scheduler, worker, scheduler.anyWaits.At(place), owner & (kAnyCounters - 1));
    LetGo(scheduler, place);
}

}  // namespace weft::internal
