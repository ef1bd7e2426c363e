// Implements wait_any.h. A wait takes an AnyWait and puts a record for it on each counter.
// The first counter that is satisfied lowers AnyWait::done, for which the waiter waits. Each record
// and the waiter hold a reference to it (submit/notify.h).
#include "scheduler/wait/wait_any.h"

#include "scheduler/find/claim.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/timing.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/run_inline.h"
#include "scheduler/wait/urgent.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

// Returns the number of a counter that is at or below `value`; `count` if there is none.
uint32_t FirstSatisfied(uint32_t count, Counter *const *counters, uint32_t value) noexcept {
    uint32_t i = 0;
    while (i < count && !IsSatisfied(*counters[i], value)) ++i;
    return i;
}

// Takes an AnyWait for the wait and registers a record on each counter. The caller then waits for
// AnyWait::done and calls End. If there is no memory for records (reported), `done` is zero
// already, and no counter is the first one.
uint32_t Begin(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *const *counters,
               uint32_t value) noexcept {
    const uint32_t index = scheduler.anyWaits.Take(CacheOf(worker));
    bool complete = index != AnyWaits::kNone;
    if (complete) {
        AnyWait &wait = scheduler.anyWaits.At(index);
        wait.references.store(1, kRelaxed);  // no other thread knows it
        wait.first.store(~0u, kRelaxed);
        RaiseCounter(scheduler, wait.done, 1);
        wait.asked = 0;
        wait.counters = counters;
        wait.isOne = count == 1 && value == 0;
        for (uint32_t i = 0; i < count && complete && wait.first.load(kRelaxed) == ~0u; ++i) {
            wait.asked = i + 1;
            // the record's reference, before another thread may give it up
            wait.references.fetch_add(1, kRelaxed);
            using Registration = CounterWaiting::Registration;
            const Registration result = scheduler.counters.RegisterOther(
                CounterAccess::Word(*counters[i]), OwnerOf(index, i), value, CacheOf(worker));
            if (result == Registration::Waiting) continue;
            wait.references.fetch_sub(1, kRelaxed);  // there is no record
            if (result == Registration::Satisfied) NoteZero(scheduler, worker, wait, i);
            if (result == Registration::OtherScheduler) {
                ReportWrongScheduler(scheduler, "WaitForAny", *counters[i]);
                NoteZero(scheduler, worker, wait, count);
            }
            complete = result != Registration::NoRecord;
        }
        if (complete) return index;
        NoteZero(scheduler, worker, wait, count);
    }
    ReportMistake(scheduler.options, ReportCode::OutOfMemory, "Wait for fewer counters at once.",
                  "WaitForAny: there is no memory for another wait record; the call does not wait");
    return index;
}

// Removes the records from the counters that are not satisfied. Returns the number of the counter
// that was first; `count` if there was none.
uint32_t End(Scheduler &scheduler, Worker *worker, uint32_t index, uint32_t count,
             Counter *const *counters) noexcept {
    const uint32_t asked = scheduler.anyWaits.At(index).asked;  // the other counters have no record
    for (uint32_t i = 0; i < asked; ++i) {
        uint32_t woken = 0;
        if (scheduler.counters.Remove(CounterAccess::Word(*counters[i]), OwnerOf(index, i), woken,
                                      CacheOf(worker)))
            LetGo(scheduler, worker, index);
        WakeOwners(scheduler, worker, woken);
    }
    const uint32_t first = scheduler.anyWaits.At(index).first.load(kAcquire);
    LetGo(scheduler, worker, index);
    if (first < count) race::SawCount(*counters[first]);
    return first;
}

}  // namespace

namespace {

// The deadline counts as one more counter with the number `count`, which becomes zero by itself. So
// one word (AnyWait::first) decides, and a wake-up and a timeout never both continue the fiber.
void SetDeadline(Scheduler &scheduler, Worker *worker, uint32_t index, uint32_t count, Timer &timer,
                 uint64_t deadline) noexcept {
    // the timer's reference, before another thread may give it up
    scheduler.anyWaits.At(index).references.fetch_add(1, kRelaxed);
    const auto isDue = [](void *context, void *owner) {
        const ExpiryContext &by = *static_cast<ExpiryContext *>(context);
        FireAnyWait(by.scheduler, by.worker,
                    static_cast<uint32_t>(reinterpret_cast<uintptr_t>(owner)));
    };
    SetTimer(scheduler, worker, timer, deadline,
             {isDue, reinterpret_cast<void *>(uintptr_t{OwnerOf(index, count)}), TimerKind::Wait});
}

uint32_t WaitFirst(Fiber *self, uint32_t count, Counter *const *counters, uint32_t value,
                   uint64_t deadline, Meanwhile meanwhile) noexcept {
    const bool sleeps = meanwhile == Meanwhile::Nothing;
    const Worker *before = self->worker;
    if (deadline != Timers::kNever) {
        const auto inTime = [&] { return TimeOf(*self->worker->scheduler) < deadline; };
        uint32_t first = FirstSatisfied(count, counters, value);
        if (first == count && count == 1 && value == 0 && !sleeps && inTime()) {
            UnclaimRest(self->worker);
            const Awaits awaits(self, counters[0]);
            RunInline(self, *counters[0], deadline);
            first = FirstSatisfied(count, counters, value);
        }
        if (first < count || !inTime()) {
            if (!sleeps) YieldToUrgent(self);
            // Wait does this in the other case.
            if (WEFT_UNLIKELY(before->scheduler->options.migrateAfterWait))
                LeaveWorker(self, before);
            return first;
        }
    }
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t index = Begin(scheduler, worker, count, counters, value);
    if (index == AnyWaits::kNone) return count;
    AnyWait &wait = scheduler.anyWaits.At(index);
    Timer timer;
    // relaxed: if another thread has set it, `done` becomes zero in any case
    const bool isTimed = deadline != Timers::kNever && wait.first.load(kRelaxed) == ~0u;
    if (isTimed) SetDeadline(scheduler, worker, index, count, timer, deadline);
    // relaxed, both: for reports
    self->waitKind.store(isTimed ? WaitKind::Time : WaitKind::Several, kRelaxed);
    sleeps ? Block(self, wait.done, 0) : Wait(worker, wait.done, 0, ResumeOn::AnyWorker);
    self->waitKind.store(WaitKind::Counter, kRelaxed);
    if (isTimed && scheduler.timers.Clear(timer)) LetGo(scheduler, self->worker, index);
    const uint32_t first = End(scheduler, self->worker, index, count, counters);
    return first == count && isTimed ? FirstSatisfied(count, counters, value) : first;
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

uint32_t WaitAnyExternal(EntryGate::Visit &visit, Scheduler &scheduler, uint32_t count,
                         Counter *const *counters, uint64_t deadline) noexcept {
    const uint32_t index = Begin(scheduler, nullptr, count, counters, 0);
    if (index == AnyWaits::kNone) return count;
    AnyWait &wait = scheduler.anyWaits.At(index);
    const bool isDue = !WaitExternal(visit, scheduler, wait.done, 0, deadline);
    // After this no counter can become the first one. If one became first just before, its thread
    // lowers `done` before it gives up its reference.
    if (isDue) NoteZero(scheduler, nullptr, wait, count);
    const uint32_t first = End(scheduler, nullptr, index, count, counters);
    return first == count && isDue ? FirstSatisfied(count, counters, 0) : first;
}

bool BeginWait(Worker *worker, Counter *const *counters, uint32_t value, uint64_t deadline,
               AnyWaitOfTask &wait) noexcept {
    FlushPending(worker);
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t index = Begin(scheduler, worker, 1, counters, value);
    if (index == AnyWaits::kNone) return false;
    wait.wait = index;
    // relaxed: if another thread has set it, `done` becomes zero in any case
    if (deadline == Timers::kNever || scheduler.anyWaits.At(index).first.load(kRelaxed) != ~0u)
        return true;
    wait.timer = scheduler.timedTasks.Take(CacheOf(worker));
    if (wait.timer == scheduler.timedTasks.kNone) OutOfMemory(scheduler, 1);
    TimedTask &timed = scheduler.timedTasks.At(wait.timer);
    timed.block = nullptr;  // for debuggers: the task that goes on is not here, it waits for `done`
    SetDeadline(scheduler, worker, index, 1, timed.timer, deadline);
    return true;
}

bool EndWait(Worker *worker, Counter *const *counters, uint32_t value,
             const AnyWaitOfTask &wait) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (wait.timer != ~0u) {
        if (scheduler.timers.Clear(scheduler.timedTasks.At(wait.timer).timer))
            LetGo(scheduler, worker, wait.wait);
        // A thread that has taken the timer does not access it any more (Timers::TakeDue).
        scheduler.timedTasks.GiveBack(wait.timer, CacheOf(worker));
    }
    return End(scheduler, worker, wait.wait, 1, counters) == 0 || IsSatisfied(*counters[0], value);
}

Counter &DoneCounterOf(Scheduler &scheduler, const AnyWaitOfTask &wait) noexcept {
    return scheduler.anyWaits.At(wait.wait).done;
}

}  // namespace weft::internal
