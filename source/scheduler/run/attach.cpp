// Implements attach.h.
#include "scheduler/run/attach.h"

#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/find/claim.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Returns true if the worker's queues hold work that it may run itself.
bool OwnsTasks(const Worker &worker) noexcept {
    const uint32_t levels = worker.scheduler->Levels();
    for (uint32_t i = 0; i < levels; ++i) {
        if (!Runs(worker, LevelAt(i))) continue;
        if (worker.ready[i].Size() != 0 ||
            worker.lanes[LaneOf(LevelAt(i), StackClass::Small)].Size() != 0)
            return true;
    }
    return !worker.inbox.IsEmpty() ||
           (HasLargeTask(worker) && worker.scheduler->pool.AnyFree(StackClass::Large));
}

// Returns true if the worker's queues hold any work.
bool OwnsAny(const Worker &worker) noexcept {
    for (const WorkStealingDeque<TaskEntry> &lane : worker.lanes) {
        if (lane.Size() != 0) return true;
    }
    for (const WorkStealingDeque<uint64_t> &ready : worker.ready) {
        if (ready.Size() != 0) return true;
    }
    return false;
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
    Worker *worker = static_cast<Worker *>(arg);
    // the thread has forked: this is the child, and the worker is the parent's
    if (*worker->home == nullptr) return;
    // It ended in a task. Built without exceptions, weft finds out only here.
    if (!worker->current->IsHost()) CheckThreadStays();
    ReportMistake(worker->scheduler->options, ReportCode::LeftAttached,
                  "Call DetachThread before the thread ends.",
                  "a thread ended while it was attached as %u; it is detached now", worker->index);
    // mingw's runtime has already freed what it knew of the thread
    worker->current->context.Adopt();
    Detach(worker);
}

}  // namespace

Status Attach(Scheduler &scheduler, bool toStop) noexcept {
    const uint32_t slot = scheduler.freeSlots.ClearAny(0);
    if (slot == AtomicBitSet::kNone) return Status::TooManyThreads;
    const uint32_t index = scheduler.workerCount + slot;
    Worker &worker = scheduler.workers[index];
    const bool wantsStack = scheduler.options.reportStackOverflow;
    worker.exitCall = {LeftAttached, &worker};
    const bool prepared = (HasQueues(worker) || AcquireQueues(worker)) &&
                          (!wantsStack || worker.signalStack.Acquire(scheduler.memory)) &&
                          env::AtThreadExit(&worker.exitCall);
    // Stop must continue. It has its queues from the start, and does without the rest.
    if (!prepared && !toStop) {
        scheduler.freeSlots.Set(slot);
        return Status::OutOfMemory;
    }
    BecomeGuest(scheduler);
    RaiseSlotsInUse(scheduler, index + 1);
    RaiseCounter(scheduler, scheduler.attached, 1);  // before it can sleep, see AllAsleep

    Fiber &fiber = scheduler.fibers[scheduler.FiberCount() + slot];
    fiber.worker = &worker;
    fiber.pinnedTo = index;
    fiber.context.Adopt();
    worker.current = &fiber;
    worker.floatingPoint = FloatingPointControl();
    race::ThreadBegan(&worker);
    worker.outerSlot = env::ThreadSlot();
    env::SetThreadSlot(&worker);
    worker.offCpu = {};
    if (wantsStack) worker.signalStack.Set();
    worker.accepts.exchange(1, kAcqRel);  // see Bind
    Emit(scheduler, &worker, TraceKind::Attach);
    return Status::Ok;
}

namespace {

// The last part of Detach: the thread is no worker any more, and its slot is free.
void LeaveSlot(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    worker->signalStack.Reset();
    env::CancelAtThreadExit(&worker->exitCall);
    env::SetThreadSlot(worker->outerSlot);
    worker->current = nullptr;
    worker->keepsTasks.store(false, kRelaxed);  // before the slot is free
    TaskScheduler &taskScheduler = *scheduler.taskScheduler;
    EntryGate::Visit visit(taskScheduler);
    visit.ComeBack();  // a guest may come back at any time
    // the next owner of the slot comes after all of the above
    scheduler.freeSlots.Set(worker->index - scheduler.workerCount);
    LowerCounter(scheduler, nullptr, scheduler.attached, 1);
    CeaseGuest(scheduler);
    visit.GoOut();
}

}  // namespace

void Detach(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (scheduler.order.isGivenUp) return LeaveSlot(worker);  // no task runs any more
    FlushPending(worker);
    Emit(scheduler, worker, TraceKind::Detach);
    worker->accepts.exchange(0, kAcqRel);  // see Bind
    do {
        Wait(worker, worker->bound, 0, ResumeOn::AnyWorker);
        // Other workers could take the work in the queues, too, but there may be none. Without a
        // free fiber this thread cannot run it. Work of each priority must go before the thread's
        // own fiber, so that fiber is Low here. Otherwise the thread would check its Low tasks
        // again and again until they are late (aging.h).
        worker->current->level = Priority::Low;
        while (OwnsTasks(*worker) && scheduler.pool.AnyFree(StackClass::Small)) YieldFiber(worker);
        worker->current->level = Priority::Normal;
    } while (!worker->bound.IsZero());
    if (OwnsAny(*worker)) WakeForAny(scheduler, worker);  // [re-check]

    LeaveSlot(worker);
}

}  // namespace weft::internal
