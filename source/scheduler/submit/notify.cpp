// Notifies the waiters of a counter, each in the way that its kind of wait record needs.
#include "scheduler/submit/notify.h"

#include "platform/race_finder.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/deliver.h"

namespace weft::internal {

// For the race finder: what has satisfied the condition comes before the start of the task.
void SendNow(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept {
    race::Submitted(1, block->Tasks());
    Send(scheduler, worker, block);
}

// acq_rel: the thread that brings the last one sees what all counters have published to the others,
// and passes it on with the tasks.
void ReachForBatch(Scheduler &scheduler, Worker *worker, uint32_t index, uint32_t n) noexcept {
    DeferredBatch &batch = scheduler.batches.At(index);
    race::Finishes(&batch);
    const uint64_t before = batch.state.fetch_sub(n, kAcqRel);
    if ((before & DeferredBatch::kLeft) != n) return;
    race::SawAll(&batch);
    TaskBlock *const oldest = batch.oldest;
    const uint32_t count = batch.count;
    const bool isTimed = batch.isTimed;
    // A withdrawal that knows the old number fails from now on. relaxed: the pool publishes it.
    const uint64_t generation = (before >> DeferredBatch::kGenerationShift) + 1;
    batch.state.store(generation << DeferredBatch::kGenerationShift, kRelaxed);
    scheduler.batches.GiveBack(index);
    if ((before & DeferredBatch::kWithdrawn) != 0) return;
    if (!isTimed) scheduler.deferred.fetch_sub(count, kRelaxed);
    SendBatchNow(scheduler, worker, oldest, count);
}

void SendBatchNow(Scheduler &scheduler, Worker *worker, TaskBlock *oldest,
                  uint32_t count) noexcept {
    for (TaskBlock *block = oldest; block != nullptr;
         block = static_cast<TaskBlock *>(block->next)) {
        race::Submitted(block->count, block->Tasks());
    }
    SendBatch(scheduler, worker, oldest, count);
}

DeferredHandle HoldBatch(Scheduler &scheduler, uint32_t index) noexcept {
    DeferredBatch &batch = scheduler.batches.At(index);
    uint64_t state = batch.state.load(kRelaxed);  // relaxed: the CAS decides
    do {
        if ((state & DeferredBatch::kWithdrawn) != 0 || (state & DeferredBatch::kLeft) == 0)
            return {};
        // acquire: pairs with the release in Begin, so the batch is complete
    } while (!batch.state.compare_exchange_strong(state, state + 1, kAcquire, kRelaxed));
    return {index, static_cast<uint32_t>(state >> DeferredBatch::kGenerationShift),
            scheduler.runNumber};
}

bool HoldTask(TaskBlock &block) noexcept {
    Deferral::Value was = Deferral::Waiting;
    // relaxed load: the CAS decides. acquire: pairs with the release in SubmitAfter.
    return block.deferral.load(kRelaxed) == was &&
           block.deferral.compare_exchange_strong(was, Deferral::Held, kAcquire, kRelaxed);
}

namespace {

// Ends a hold. Returns false if the counter was reached meanwhile: then this has sent the task.
// release: what this thread has read comes before what the next one writes. acquire: this thread
// sees what was published by way of the counter.
bool EndHold(Scheduler &scheduler, Worker *worker, TaskBlock &block,
             Deferral::Value next) noexcept {
    Deferral::Value was = Deferral::Held;
    if (block.deferral.compare_exchange_strong(was, next, kRelease, kAcquire)) return true;
    scheduler.deferred.fetch_sub(1, kRelaxed);  // for reports
    SendNow(scheduler, worker, &block);
    return false;
}

}  // namespace

void LetTaskGo(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept {
    EndHold(scheduler, worker, block, Deferral::Waiting);
}

// Under the lock, because a climb may be using the counter that it has got from
// CounterOfDeferred, and that counter may be gone as soon as the task counts as finished.
bool WithdrawTask(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept {
    {
        const SpinLock::Held held(scheduler.climbs);
        Deferral::Value was = Deferral::Held;
        // release, acquire: as in EndHold
        if (block.deferral.compare_exchange_strong(was, Deferral::Withdrawn, kRelease, kAcquire)) {
            scheduler.deferred.fetch_sub(1, kRelaxed);
            return true;
        }
    }
    return EndHold(scheduler, worker, block, Deferral::Withdrawn);
}

Counter *CounterOfDeferred(Scheduler &scheduler, uint32_t owner) noexcept {
    if ((owner & kBatchOwner) != 0) {
        const DeferredBatch &batch = scheduler.batches.At(owner & ~(kTaskOwner | kBatchOwner));
        // relaxed: the record publishes it
        return batch.mayBeWithdrawn ? nullptr : batch.counter.load(kRelaxed);
    }
    TaskBlock &block = scheduler.singles.At(owner & ~kTaskOwner);
    // relaxed: StopFor withdraws under Scheduler::climbs, which the caller holds
    return block.deferral.load(kRelaxed) == Deferral::Withdrawn ? nullptr : block.counter.Get();
}

void SendDeferred(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept {
    // relaxed load: the wait record has published what was written before the task was deferred.
    // acq_rel: the thread that holds the block has read it before it is sent, and a thread that
    // finds None there sees what this one has seen of the counter.
    if (block.deferral.load(kRelaxed) != Deferral::None) {
        const Deferral::Value was = block.deferral.exchange(Deferral::None, kAcqRel);
        if (was == Deferral::Withdrawn)
            return scheduler.singles.GiveBack(block.index, CacheOf(worker));
        if (was == Deferral::Held) return;
    }
    scheduler.deferred.fetch_sub(1, kRelaxed);
    SendNow(scheduler, worker, &block);
}

namespace {

// A counter of deferred tasks was reached. `owner`: that of their wait record.
void ReachDeferred(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept {
    if ((owner & kBatchOwner) != 0)
        return ReachForBatch(scheduler, worker, owner & ~(kTaskOwner | kBatchOwner), 1);
    SendDeferred(scheduler, worker, scheduler.singles.At(owner & ~kTaskOwner));
}

}  // namespace

void WakeOwners(Scheduler &scheduler, Worker *worker, uint32_t list) noexcept {
    while (list != 0) {
        const uint32_t owner = scheduler.counters.NextOwner(list, CacheOf(worker));
        if (WEFT_LIKELY((owner & (kThreadOwner | kAnyOwner | kTaskOwner)) == 0)) {
            MakeReady(scheduler, worker, &scheduler.fibers[owner]);
        } else if ((owner & kThreadOwner) != 0) {
            // the thread is a guest, so its ThreadWaiter stays valid
            ThreadWaiter &waiter = scheduler.threadWaiters.At(owner & ~kThreadOwner);
            Emit(scheduler, worker, TraceKind::Ready,
                 [&](TraceEvent &event) { event.counter = waiter.waitsFor.load(kRelaxed); });
            waiter.parker.Unpark();
        } else if ((owner & kAnyOwner) != 0) {
            FireAnyWait(scheduler, worker, owner);
        } else {
            ReachDeferred(scheduler, worker, owner);
        }
    }
}

bool LowerAndWake(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept {
    uint32_t woken = 0;
    switch (scheduler.counters.Decrement(CounterAccess::Word(counter), n, woken)) {
        case CounterResult::Ok:
            break;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "Decrement", counter);
            return false;
        default:
            ReportMistake(
                scheduler.options, ReportCode::CounterUnderflow,
                "Lower a counter only by what was added to it; tasks lower theirs by themselves.",
                "counter %p would fall below zero: it stands at %u and was to be lowered by %u",
                static_cast<void *>(&counter), counter.Value(), n);
            return false;
    }
    if (woken == 0) return true;
    // relaxed: `deferred` was incremented before the wait record was put on the counter. A task
    // that must follow a counter begins after everything that the counter counted.
    if (race::kFinder && scheduler.deferred.load(kRelaxed) != 0) race::SawCount(counter);
    WakeOwners(scheduler, worker, woken);
    return true;
}

namespace {

constexpr uint32_t kLastOwner = OwnerOf(AnyWaits::kMaxItems - 1, kMaxOfAny);

static_assert(IndexOf(kLastOwner) == AnyWaits::kMaxItems - 1 && CounterOf(kLastOwner) == kMaxOfAny,
              "an owner must hold both indices");
static_assert(TaskBlockPool<1>::kMaxItems <= kBatchOwner &&
                  decltype(Scheduler::batches)::kMaxItems <= kBatchOwner,
              "kBatchOwner must not overlap an index");
static_assert((kLastOwner & kThreadOwner) == 0, "kThreadOwner must not overlap other owners");

}  // namespace

// acq_rel: the thread that gives up the last reference sees all that the others did with the wait.
void LetGo(Scheduler &scheduler, const Worker *worker, uint32_t index) noexcept {
    if (scheduler.anyWaits.At(index).references.fetch_sub(1, kAcqRel) == 1)
        scheduler.anyWaits.GiveBack(index, CacheOf(worker));
}

// The first call lowers the done counter.
void NoteZero(Scheduler &scheduler, Worker *worker, AnyWait &wait, uint32_t counter) noexcept {
    uint32_t none = ~0u;
    // acq_rel: the waiter sees what was counted, by way of the done counter.
    if (wait.first.compare_exchange_strong(none, counter, kAcqRel, kRelaxed)) {
        LowerCounter(scheduler, worker, wait.done, 1);
    }
}

void FireAnyWait(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept {
    const uint32_t index = IndexOf(owner);
    NoteZero(scheduler, worker, scheduler.anyWaits.At(index), CounterOf(owner));
    LetGo(scheduler, worker, index);
}

Counter &DoneCounterOf(Scheduler &scheduler, uint32_t owner) noexcept {
    return scheduler.anyWaits.At(IndexOf(owner)).done;
}

Counter *DoneCounterOfOne(Scheduler &scheduler, uint32_t owner) noexcept {
    if ((owner & (kThreadOwner | kAnyOwner)) != kAnyOwner) return nullptr;
    AnyWait &wait = scheduler.anyWaits.At(IndexOf(owner));
    return wait.isOne ? &wait.done : nullptr;
}

}  // namespace weft::internal
