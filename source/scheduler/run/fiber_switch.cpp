// Leaves a fiber for another one.
#include "scheduler/run/run.h"

#include "scheduler/policy/next_work.h"
#include "scheduler/state/order.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

Fiber *AcquireFiber(Worker &worker, const Work &start) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t index = scheduler.fibers.free.Take(
        worker.index, scheduler.Slots(),
        [&](uint32_t i) -> FreeFibers::Slot & { return scheduler.workers[i].spareFiber; });
    if (index == FreeFibers::kNone) return nullptr;
    Fiber &fiber = scheduler.fibers[index];
    if (!fiber.isPrepared.load(kRelaxed)) fiber.Prepare(FiberMain);
    fiber.start = start;
    fiber.begins = !start;
    return &fiber;
}

void SwitchTo(Fiber &from, Fiber &to, Destination destination) noexcept {
    Worker &worker = *from.worker;
    if (IsTraced(*worker.scheduler)) EmitSwitch(worker, to);
    worker.left = &from;
    worker.destination = destination;
    worker.current = &to;
    to.worker = &worker;
    const bool isPinned =
        race::kFinder && from.pinnedTo != kAnyWorker && destination != Destination::ToPool;
    if (isPinned) race::LeavesThread(&worker);
    race::Leaves(&worker);
    SwitchContext(from.context, to.context);
    race::RunsOn(from.worker);
    if (isPinned) race::ComesToThread(from.worker);
    FinishSwitch(*from.worker);
}

namespace {

// The fiber that was left waits. It may run elsewhere as soon as its record is on the counter.
void RegisterWaiter(Worker &worker, Fiber &fiber) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    FiberWait &wait = fiber.wait;
    const uint64_t deadline = wait.deadline.load(kRelaxed);
    Counter &counter = *wait.counter.load(kRelaxed);
    Counters::Registration result;
    const auto join = [&] {
        result = scheduler.counters.Register(CounterAccess::Word(counter), fiber.index,
                                             wait.target.load(kRelaxed), fiber.level.ThePriority());
        return result == Counters::Registration::Waiting;
    };
    const bool waits =
        deadline == Timers::kNever ? join() : scheduler.timers.SetIf(wait.timer, deadline, join);
    if (!waits) {
        if (result == Counters::Registration::OtherScheduler) {
            ReportWrongScheduler(scheduler, "WaitForCounter", counter);
            wait.timedOut = true;  // the wait has failed
        }
        return MakeReady(scheduler, &worker, fiber, worker.current->begins);
    }
    if (deadline == Timers::kNever) return;
    scheduler.notices.Show(Notices::kTimed);
    // If the next fiber `begins`, it keeps the deadline itself (FindWork, FiberMain).
    if (!worker.current->begins) KeepDeadline(scheduler, &worker, deadline);
}

}  // namespace

void FinishSwitch(Worker &worker) noexcept {
    Fiber *const left = worker.left;
    switch (worker.destination) {
        case Destination::None:
            return;
        case Destination::ToPool:
            return worker.scheduler->fibers.free.Free(left->index, worker.spareFiber);
        case Destination::ToReady:
            return MakeReady(*worker.scheduler, &worker, *left, worker.current->begins);
        case Destination::ToBack:
            if (left->pinnedTo != kAnyWorker) return MakeReady(*worker.scheduler, &worker, *left);
            return Inject(*worker.scheduler, &worker, left, left, 1);
        case Destination::ToWaiting:
            return RegisterWaiter(worker, *left);
    }
}

void Suspend(Fiber &self, Destination destination) noexcept {
    Worker &worker = *self.worker;
    ReleaseClaims(worker);
    worker.figures.Count(&Figures::suspensions);
    if (worker.fair.budget != 0) --worker.fair.budget;
    if (Fiber *const ready = NextReady(worker)) return SwitchTo(self, *ready, destination);
    // With an order, `self` or its deadline may come first. So `self` is left before the choice.
    const bool draws = WEFT_UNLIKELY(worker.filter.isSpecial) && IsOrdered(*worker.scheduler);
    const Work work = draws ? Work{} : NextWork(worker);
    Fiber *to = work.entry.TheKind() == Entry::Fiber ? &work.entry.TheFiber() : nullptr;
    if (to == nullptr) to = AcquireFiber(worker, work);
    if (WEFT_UNLIKELY(to == nullptr)) {
        to = WithoutFiber(self, destination, work);
        if (to == &self) return;
    }
    SwitchTo(self, *to, destination);
}

}  // namespace weft::internal
