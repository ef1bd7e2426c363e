// Implements fiber_switch.h.
#include "scheduler/wait/fiber_switch.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/find/find_work.h"
#include "scheduler/find/rescue.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

void RegisterWaiter(Worker *worker, Fiber *fiber) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // relaxed: the fiber that was left wrote both, on this thread.
    Counter *counter = fiber->waitsFor.load(kRelaxed);
    const uint32_t target = fiber->waitTarget.load(kRelaxed);
    const StackClass takes = fiber->handed != nullptr ? fiber->takes : StackClass::Small;
    switch (scheduler.counters.Register(CounterAccess::Word(*counter), fiber->index, target)) {
        case CounterWaiting::Registration::Waiting:
            // The fiber may be running already. Do not touch it or the counter from here on.
            if (target == 0) OfferRoom(worker, takes);
            break;
        case CounterWaiting::Registration::Satisfied:
            MakeReady(scheduler, worker, fiber);
            break;
        case CounterWaiting::Registration::NoRecord:
            break;  // does not happen: each fiber has its own record
        case CounterWaiting::Registration::OtherScheduler:
            ReportWrongScheduler(scheduler, "WaitForCounter", *counter);
            MakeReady(scheduler, worker, fiber);
            break;
    }
}

namespace {

// Gives the fiber back to the pool, and wakes workers that lack one.
void FreeFiber(Worker *worker, Fiber *fiber) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const StackClass stack = scheduler.pool.ClassOf(fiber->index);
    scheduler.pool.ReleaseFiber(fiber->index, worker->index);
    if (stack == StackClass::Small) {
        WakeStarved(scheduler, worker);
        return;
    }
    // Both checks come after the release. A worker with a Large task and no fiber first shows the
    // notice, or counts itself in pinnedLarge, and then checks for a fiber.
    if (scheduler.notices.Has(Notices::kLargeWork)) WakeForFreeLarge(scheduler, worker);
    if (scheduler.pinnedLarge.load(kSeqCst) != 0)
        WakeEverySleeper(scheduler, worker);  // [re-check]
}

}  // namespace

void SwitchTo(Fiber *self, Fiber *next, Destination destination) noexcept {
    Worker *worker = self->worker;
    Emit(*worker->scheduler, worker, TraceKind::FiberSwitch,
         [=](TraceEvent &event) { event.other = next->index; });
    worker->pendingSwitch = {self, destination};
    worker->current = next;
    next->worker = worker;
    const bool pinned = race::kFinder && self->pinnedTo != kAnyWorker;
    if (pinned) race::LeavesThread(worker);
    race::Leaves(worker);
    SwitchContext(self->context, next->context);
    race::RunsOn(self->worker);
    if (pinned) race::ComesToThread(worker);
    FinishSwitch(self);
}

void FinishSwitch(Fiber *self) noexcept {
    Worker *worker = self->worker;
    const PendingSwitch pendingSwitch = worker->pendingSwitch;
    worker->pendingSwitch = {};
    switch (pendingSwitch.destination) {
        case Destination::None:
            break;
        case Destination::ToPool:
            FreeFiber(worker, pendingSwitch.from);
            break;
        case Destination::ToWaiting:
            RegisterWaiter(worker, pendingSwitch.from);
            break;
        case Destination::ToReady:
            MakeReady(*worker->scheduler, worker, pendingSwitch.from);
            break;
    }
    // From here on pendingSwitch.from belongs to other threads.
    worker->willPollNext = false;
}

void SuspendTo(Fiber *self, Destination destination) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    StopLending(worker);
    AddTo(worker->suspensions, 1);
    Fiber *next = FindReady(worker);
    if (next == nullptr) {
        worker->willPollNext = true;
        const uint32_t fiber = scheduler.pool.AcquireFiber(StackClass::Small, worker->index);
        next = fiber == FiberPool::kNone ? &worker->threadFiber : &scheduler.fibers[fiber];
    }
    SwitchTo(self, next, destination);
}

}  // namespace weft::internal
