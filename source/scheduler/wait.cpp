#include "scheduler/wait.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
#include "scheduler/fiber_switch.h"
#include "scheduler/foreign.h"
#include "scheduler/help.h"
#include "scheduler/idle.h"
#include "scheduler/pinned.h"
#include "scheduler/post.h"
#include "scheduler/submit.h"
#include "scheduler/timing.h"
#include "scheduler/trace.h"
#include "scheduler/turn.h"

namespace weft::internal {

namespace {

void TraceWait(const Fiber *self, TraceHook TraceHooks::*hook, const Counter *counter, uint32_t value) noexcept {
    Trace(self->worker, hook, [=](TraceEvent &event) {
        event.count = value;
        event.task = self->taskName.load(kRelaxed);
        event.counter = counter;
    });
}

void BeginWait(Fiber *self, Counter &counter, uint32_t value) noexcept {
    self->waitTarget = value;
    self->waitsFor.store(&counter, kRelaxed);  // read on this thread by RegisterWaiter
    TraceWait(self, &TraceHooks::wait, &counter, value);
}

void EndWait(Fiber *self, Counter &counter, uint32_t value) noexcept {
    self->waitsFor.store(nullptr, kRelaxed);  // for reports
    TraceWait(self, &TraceHooks::resume, &counter, value);
}

// Until the wait is over; or, if it is for zero, until the fiber has been handed a task of the counter (rescue.h): then true.
bool SuspendOrTake(Fiber *self, Counter &counter, uint32_t value, TaskEntry &handed) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    const bool takes = value == 0 && MayHelp(self, scheduler, StackClass::Small);
    if (takes) {
        self->takes = MayHelp(self, scheduler, StackClass::Large) ? StackClass::Large : StackClass::Small;
        self->handed = &handed;  // published by the counter's record; then with the fiber
    }
    BeginWait(self, counter, value);
    SuspendTo(self, Destination::ToWaiting);
    const bool hasTaken = takes && self->handed == nullptr;
    self->handed = nullptr;
    if (!hasTaken) race::SawCount(counter);
    EndWait(self, counter, value);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(self->worker);
    return hasTaken;
}

// Whatever it is handed meanwhile runs here.
WEFT_NOINLINE void Suspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    const Priority priority = self->priority;
    for (TaskEntry handed; SuspendOrTake(self, counter, value, handed);) {
        ClaimEntry(self->worker, handed, self->priority, false);  // Low, if the task is limited
        RunClaim(self, AndThen::ReturnToTask);
        self->priority = priority;
        if (IsSatisfied(counter, 0) || Help(self, counter)) return;
    }
}

void HelpOrSuspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (IsSatisfied(counter, value)) return GiveTurn(self);
    UnclaimRest(self->worker);
    if (value == 0) {
        if (Help(self, counter)) return;
        // What others ran may have finished while no task was left for this one.
        if (IsSatisfied(counter, 0)) return GiveTurn(self);
    }
    Suspend(self, counter, value);
}

// The thread sleeps here and runs no task. The fiber is on the counter's list while it still runs; that is safe, as it is pinned.
void Block(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (IsSatisfied(counter, value)) return;
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    UnclaimRest(worker);
    StopLending(worker);
    scheduler.blocked.fetch_add(1, kRelaxed);  // for a report
    BeginWait(self, counter, value);
    RegisterWaiter(worker, self);
    for (; !TakePinnedFiber(worker, self); TellDueNow(worker)) Sleep(worker, Ability::Nothing);
    race::SawCount(counter);
    EndWait(self, counter, value);
    scheduler.blocked.fetch_sub(1, kRelaxed);
}

void CountRestriction(Worker *worker, Meanwhile meanwhile, uint32_t change) noexcept {
    worker->restricting[meanwhile == Meanwhile::HighOnly ? 0 : 1] += change;
    worker->lowest = worker->restricting[0] != 0   ? Priority::High
                     : worker->restricting[1] != 0 ? Priority::Normal
                                                   : Priority::Low;
    worker->scheduler->blocked.fetch_add(change, kRelaxed);  // for a report
}

// It comes back on the same worker. Several may wait so at once: the strictest decides.
void WaitRestricted(Fiber *self, Counter &counter, uint32_t value, Meanwhile meanwhile) noexcept {
    Worker *worker = self->worker;
    CountRestriction(worker, meanwhile, 1);
    HelpOrSuspend(self, counter, value);
    CountRestriction(worker, meanwhile, ~0u);
}

// Pinned meanwhile; so are the waits of tasks that this one helps with.
template <class Wait>
void OnThisWorker(Fiber *self, Wait wait) noexcept {
    if (self->pinnedTo != kAnyWorker) return wait();
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    // The thread does not detach before this is over. It has not detached yet, so there is nothing to refuse.
    const bool bind = scheduler.IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    race::ComesToThread(worker);
    wait();
    self->pinnedTo = kAnyWorker;
    if (bind) Unbind(scheduler, worker, *worker);
}

}  // namespace

void Wait(Worker *worker, Counter &counter, uint32_t value, Resume resume) noexcept {
    FlushPending(worker);
    Fiber *self = worker->current;
    if (WEFT_LIKELY(resume == Resume::AnyWorker)) return HelpOrSuspend(self, counter, value);
    OnThisWorker(self, [&] { HelpOrSuspend(self, counter, value); });
}

void WaitMeanwhile(Worker *worker, Counter &counter, uint32_t value, Meanwhile meanwhile) noexcept {
    if (meanwhile == Meanwhile::AnyTask) return Wait(worker, counter, value, Resume::AnyWorker);
    FlushPending(worker);
    Fiber *self = worker->current;
    OnThisWorker(self, [&] {
        meanwhile == Meanwhile::Nothing ? Block(self, counter, value) : WaitRestricted(self, counter, value, meanwhile);
    });
}

void YieldFiber(Worker *worker) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    worker->taskBeforeReady = true;
    SuspendTo(self, Destination::ToReady);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(worker);
}

}  // namespace weft::internal
