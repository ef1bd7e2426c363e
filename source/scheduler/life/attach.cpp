// Attached threads.
#include "scheduler/life/life.h"

#include "platform/floating_point.h"
#include "platform/thread_end.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/order.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

// Returns true if the worker's deques or its inbox hold something.
bool OwnsWork(const Worker &worker) noexcept {
    for (uint32_t levels = worker.holds; levels != 0; levels &= levels - 1) {
        if (worker.queue[LowestBit(levels)].Size() != 0) return true;
    }
    // without workers nobody else may come for these
    const Scheduler &scheduler = *worker.scheduler;
    return !worker.inbox.IsEmpty() ||
           (scheduler.workerCount == 0 && (scheduler.AnyBehind() || !scheduler.injector.IsEmpty()));
}

// Raises slotsInUse to `slots` if it is lower.
void RaiseSlotsInUse(Scheduler &scheduler, uint32_t slots) noexcept {
    uint32_t inUse = scheduler.slotsInUse.load(kSeqCst);
    while (inUse < slots &&
           !scheduler.slotsInUse.compare_exchange_strong(inUse, slots, kSeqCst, kSeqCst)) {
    }
}

// Runs when a thread ends while it is attached. Does all that DetachThread would do, on the
// thread's own stack.
void LeftAttached(void *arg) {
    Worker &worker = *static_cast<Worker *>(arg);
    // the thread has forked: this is the child, and the worker is the parent's
    if (*worker.home == nullptr) return;
    // It ended in a task. Built without exceptions, weft finds out only here.
    if (!worker.current->IsHost()) CheckThreadStays();
    ReportMistake(worker.scheduler->options, ReportCode::LeftAttached,
                  "Call DetachThread before the thread ends.",
                  "a thread ended while it was attached as %u; it is detached now", worker.index);
    // mingw's runtime has already freed what it knew of the thread
    worker.current->context.Adopt();
    Detach(worker);
}

// The thread is no worker any more, and its slot is free.
void LeaveSlot(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    worker.signalStack.Reset();
    env::CancelAtThreadExit(&worker.exitCall);
    env::SetThreadSlot(worker.outerSlot);
    worker.current = nullptr;
    worker.rest.kind.store(Rest::kAway, kSeqCst);  // see diagnose/stall.cpp
    EntryGate::Visit visit(*scheduler.taskScheduler);
    visit.ComeBack();  // a guest may come back at any time
    // the next owner of the slot comes after all of the above
    scheduler.freeSlots.Set(worker.index - scheduler.workerCount);
    Lower(scheduler, nullptr, scheduler.guests.attached, 1);
    LetOneLook(scheduler);
    CeaseGuest(scheduler);
    visit.GoOut();
}

}  // namespace

Status Attach(Scheduler &scheduler, bool toStop) noexcept {
    const uint32_t slot = scheduler.freeSlots.ClearAny(0);
    if (slot == AtomicBitSet::kNone) return Status::TooManyThreads;
    Worker &worker = scheduler.workers[scheduler.workerCount + slot];
    worker.exitCall = {LeftAttached, &worker};
    if (!env::AtThreadExit(&worker.exitCall) && !toStop) {
        scheduler.freeSlots.Set(slot);
        return Status::OutOfMemory;
    }
    BecomeGuest(scheduler);
    RaiseSlotsInUse(scheduler, worker.index + 1);
    RaiseNow(scheduler, scheduler.guests.attached, 1);

    Fiber &fiber = scheduler.fibers[scheduler.fibers.count + slot];
    fiber.worker = &worker;
    fiber.pinnedTo = worker.index;
    fiber.level = fiber.own = Priority::Normal;
    fiber.context.Adopt();
    worker.current = &fiber;
    worker.floatingPoint = FloatingPointControl();
    worker.outerSlot = env::ThreadSlot();
    race::ThreadBegan(&worker);
    env::SetThreadSlot(&worker);
    if (scheduler.handlesFaults) worker.signalStack.Set();
    StartClock(worker);
    worker.rest.kind.store(Rest::kNone, kRelaxed);
    worker.accepts.exchange(1, kAcqRel);  // see Bind
    Emit(scheduler, &worker, TraceKind::Attach);
    return Status::Ok;
}

// Other workers could take the work in the deques, too, but there may be none. While it is Low, all
// of it goes before the thread's own fiber, or takes turns with it.
void Detach(Worker &worker) noexcept {
    Fiber &host = *worker.current;
    Flush(worker);
    worker.accepts.exchange(0, kAcqRel);  // see Bind
    if (!IsGivenUp(*worker.scheduler)) do {
            Wait(worker, {worker.bound});
            host.level = host.own = Priority::Low;
            while (OwnsWork(worker)) YieldFiber(worker);
            host.level = host.own = Priority::Normal;
        } while (!worker.bound.IsZero());
    Emit(*worker.scheduler, &worker, TraceKind::Detach);
    Flush(worker);
    LeaveSlot(worker);
}

}  // namespace weft::internal
