#include "scheduler/wait_any.h"

#include "scheduler/claim.h"
#include "scheduler/foreign.h"
#include "scheduler/help.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/submit.h"
#include "scheduler/timing.h"
#include "scheduler/turn.h"
#include "scheduler/wait.h"

namespace weft::internal {

namespace {

using Places = decltype(Scheduler::anyWaits);

constexpr uint32_t OwnerOf(uint32_t place, uint32_t counter) noexcept {
    return kAnyOwner | (place * kAnyCounters + counter);
}
constexpr uint32_t PlaceOf(uint32_t owner) noexcept { return (owner & ~kAnyOwner) / kAnyCounters; }
constexpr uint32_t CounterOf(uint32_t owner) noexcept { return owner % kAnyCounters; }

constexpr uint32_t kLastOwner = OwnerOf(Places::kMaxItems - 1, kMaxOfAny);
static_assert(PlaceOf(kLastOwner) == Places::kMaxItems - 1 && CounterOf(kLastOwner) == kMaxOfAny,
              "it has room for both");
static_assert((kLastOwner & kThreadOwner) == 0, "it is told apart");

// acq_rel: the last to let go comes after all that the others did with it.
void LetGo(Scheduler &scheduler, const Worker *worker, uint32_t place) noexcept {
    if (scheduler.anyWaits.At(place).references.fetch_sub(1, kAcqRel) == 1)
        scheduler.anyWaits.GiveBack(place, CacheOf(worker));
}

// One counter is zero. The first to say so opens the gate.
void NoteZero(Scheduler &scheduler, Worker *worker, AnyWait &wait, uint32_t counter) noexcept {
    uint32_t none = ~0u;
    // acq_rel: what was counted is visible to the waiter through the gate.
    if (wait.first.compare_exchange_strong(none, counter, kAcqRel, kRelaxed)) {
        LowerCounter(scheduler, worker, wait.gate, 1);
    }
}

// Which counter is at or below `value`; `count` if none is.
uint32_t Look(uint32_t count, Counter *const *counters, uint32_t value) noexcept {
    uint32_t i = 0;
    while (i < count && !IsSatisfied(*counters[i], value)) ++i;
    return i;
}

// A place for the wait, with a record on each counter. The caller then waits for AnyWait::gate and
// calls End. Without memory for records (reported) the gate is open, and no counter was first.
uint32_t Begin(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *const *counters,
               uint32_t value) noexcept {
    const uint32_t place = scheduler.anyWaits.Take(CacheOf(worker));
    bool complete = place != Places::kNone;
    if (complete) {
        AnyWait &wait = scheduler.anyWaits.At(place);
        wait.references.store(1, kRelaxed);  // nobody else knows it
        wait.first.store(~0u, kRelaxed);
        RaiseCounter(scheduler, wait.gate, 1);
        wait.asked = 0;
        wait.isOne = count == 1 && value == 0;
        for (uint32_t i = 0; i < count && complete && wait.first.load(kRelaxed) == ~0u; ++i) {
            wait.asked = i + 1;
            // the record's, before somebody may let go of it
            wait.references.fetch_add(1, kRelaxed);
            using Registration = CounterWaiting::Registration;
            const Registration result = scheduler.counters.RegisterOther(
                CounterAccess::Word(*counters[i]), OwnerOf(place, i), value, CacheOf(worker));
            if (result == Registration::Waiting) continue;
            wait.references.fetch_sub(1, kRelaxed);  // there is no record
            if (result == Registration::Satisfied) NoteZero(scheduler, worker, wait, i);
            if (result == Registration::OtherScheduler) {
                ReportWrongScheduler(scheduler, "WaitForAny", *counters[i]);
                NoteZero(scheduler, worker, wait, count);
            }
            complete = result != Registration::NoRecord;
        }
        if (complete) return place;
        NoteZero(scheduler, worker, wait, count);
    }
    ReportMistake(scheduler.options, ReportCode::OutOfMemory, "Wait for fewer counters at once.",
                  "WaitForAny: there is no memory for another wait record; it does not wait");
    return place;
}

// Takes the records off the counters that are not satisfied, and returns which was first; `count`
// if none was.
uint32_t End(Scheduler &scheduler, Worker *worker, uint32_t place, uint32_t count,
             Counter *const *counters) noexcept {
    const uint32_t asked = scheduler.anyWaits.At(place).asked;  // the others may be anybody's
    for (uint32_t i = 0; i < asked; ++i) {
        uint32_t woken = 0;
        if (scheduler.counters.Remove(CounterAccess::Word(*counters[i]), OwnerOf(place, i), woken,
                                      CacheOf(worker)))
            LetGo(scheduler, worker, place);
        WakeOwners(scheduler, worker, woken);
    }
    const uint32_t first = scheduler.anyWaits.At(place).first.load(kAcquire);
    LetGo(scheduler, worker, place);
    if (first < count) race::SawCount(*counters[first]);
    return first;
}

}  // namespace

void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept {
    const uint32_t place = PlaceOf(owner);
    NoteZero(scheduler, worker, scheduler.anyWaits.At(place), CounterOf(owner));
    LetGo(scheduler, worker, place);
}

Counter &GateOf(Scheduler &scheduler, uint32_t owner) noexcept {
    return scheduler.anyWaits.At(PlaceOf(owner)).gate;
}

Counter *GateOfOne(Scheduler &scheduler, uint32_t owner) noexcept {
    if ((owner & (kThreadOwner | kAnyOwner)) != kAnyOwner) return nullptr;
    AnyWait &wait = scheduler.anyWaits.At(PlaceOf(owner));
    return wait.isOne ? &wait.gate : nullptr;
}

namespace {

// The deadline is one more counter, as it were, that becomes zero by itself. So there is one state
// that says who was first, and a wake-up and a time-out never both let the fiber go on.
uint32_t WaitFirst(Fiber *self, uint32_t count, Counter *const *counters, uint32_t value,
                   uint64_t deadline, Meanwhile meanwhile) noexcept {
    const bool sleeps = meanwhile == Meanwhile::Nothing;
    if (deadline != Timers::kNever) {
        uint32_t first = Look(count, counters, value);
        if (first == count && count == 1 && value == 0 && !sleeps && env::Now() < deadline) {
            UnclaimRest(self->worker);
            const Awaits awaits(self, counters[0]);
            Help(self, *counters[0], deadline);
            first = Look(count, counters, value);
        }
        if (first < count || env::Now() >= deadline) {
            if (!sleeps) GiveTurn(self);
            return first;
        }
    }
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t place = Begin(scheduler, worker, count, counters, value);
    if (place == Places::kNone) return count;
    AnyWait &wait = scheduler.anyWaits.At(place);
    Timer timer;
    // relaxed: else the gate is open
    const bool isTimed = deadline != Timers::kNever && wait.first.load(kRelaxed) == ~0u;
    if (isTimed) {
        wait.references.fetch_add(1, kRelaxed);  // the timer's, before somebody may let go of it
        const auto isDue = [](void *teller, void *owner) {
            const Teller &by = *static_cast<Teller *>(teller);
            FireAnyWait(by.scheduler, by.worker,
                        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(owner)));
        };
        SetTimer(scheduler, worker, timer, deadline,
                 {isDue, reinterpret_cast<void *>(uintptr_t{OwnerOf(place, count)})});
    }
    sleeps ? Block(self, wait.gate, 0) : Wait(worker, wait.gate, 0, ResumeOn::AnyWorker);
    if (isTimed && scheduler.timers.Clear(timer)) LetGo(scheduler, self->worker, place);
    const uint32_t first = End(scheduler, self->worker, place, count, counters);
    return first == count && isTimed ? Look(count, counters, value) : first;
}

}  // namespace

uint32_t WaitAny(Worker *worker, uint32_t count, Counter *const *counters, uint32_t value,
                 uint64_t deadline, Meanwhile meanwhile) noexcept {
    FlushPending(worker);
    Fiber *self = worker->current;
    if (meanwhile == Meanwhile::AnyTask)
        return WaitFirst(self, count, counters, value, deadline, meanwhile);
    const Restricted restricted(self, meanwhile, count == 1 ? counters[0] : nullptr);
    return WaitFirst(self, count, counters, value, deadline, meanwhile);
}

uint32_t WaitAnyForeign(Gate::Visit &visit, Scheduler &scheduler, uint32_t count,
                        Counter *const *counters, uint64_t deadline) noexcept {
    const uint32_t place = Begin(scheduler, nullptr, count, counters, 0);
    if (place == Places::kNone) return count;
    AnyWait &wait = scheduler.anyWaits.At(place);
    const bool isDue = !WaitForeign(visit, scheduler, wait.gate, 0, deadline);
    // From now on nobody is first; or somebody was, just now, who opens the gate before letting go
    // of the place.
    if (isDue) NoteZero(scheduler, nullptr, wait, count);
    const uint32_t first = End(scheduler, nullptr, place, count, counters);
    return first == count && isDue ? Look(count, counters, 0) : first;
}

void SleepUntil(Worker *worker, uint64_t deadline) noexcept {
    FlushPending(worker);
    Counter gate(1);
    Timer timer;
    const auto isDue = [](void *teller, void *owner) {
        const Teller &by = *static_cast<Teller *>(teller);
        LowerCounter(by.scheduler, by.worker, *static_cast<Counter *>(owner), 1);
    };
    if (env::Now() >= deadline) return GiveTurn(worker->current);
    SetTimer(*worker->scheduler, worker, timer, deadline, {isDue, &gate});
    Wait(worker, gate, 0, ResumeOn::AnyWorker);
}

}  // namespace weft::internal
