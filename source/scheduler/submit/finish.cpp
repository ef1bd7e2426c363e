// Implements finish.h.
#include "scheduler/submit/finish.h"

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

bool ReportRefused(Scheduler &scheduler, const char *call, Counter &counter, CounterResult result,
                   uint32_t n) noexcept {
    const auto address = static_cast<void *>(&counter);
    if (result == CounterResult::OtherScheduler)
        ReportWrongScheduler(scheduler, call, counter);
    else if (result == CounterResult::Overflow)
        ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                      "counter %p would pass 2^32 - 1", address);
    else
        ReportMistake(scheduler.options, ReportCode::CounterUnderflow,
                      "Lower a counter only by what was added to it; tasks lower theirs by "
                      "themselves.",
                      "counter %p would fall below zero: it stands at %u and was to be lowered by "
                      "%u",
                      address, counter.Value(), n);
    return false;
}

namespace {

// Of several records only the first one ends the wait. The last access to the wait lowers `all`.
// LowerNow tells the race finder nothing: only the winning counter comes before the end of the
// wait.
void ReachAny(Scheduler &scheduler, Worker *worker, uint32_t index) noexcept {
    const AnyRecord record = scheduler.pools.anyRecords.At(index);
    scheduler.pools.anyRecords.GiveBack(index, CacheOf(worker));
    AnyWait &wait = *record.wait;
    uint32_t none = AnyWait::kNone;
    // release: the waiter sees what the decrement of this counter has published
    if (wait.winner.compare_exchange_strong(none, record.which, kAcqRel, kRelaxed))
        LowerNow(scheduler, worker, wait.first, 1, false);
    LowerNow(scheduler, worker, wait.all, 1, false);
}

// A task of another scheduler is told as an external thread would do it. It is a guest here, and
// its scheduler stays while this thread is inside its gate.
void TellThread(Scheduler &scheduler, Worker *worker, ThreadWaiter &waiter) noexcept {
    // relaxed, both: the waiter has written it before the record was published; a worker that
    // checks for a stall later has seen this thread's own sleep
    Emit(scheduler, worker, TraceKind::Ready, waiter.waitsFor.load(kRelaxed));
    waiter.isTold.store(true, kRelaxed);
    if (WEFT_LIKELY(waiter.task == nullptr)) return waiter.parker.Unpark();
    Scheduler &other = *waiter.task->scheduler;
    EntryGate::Visit visit(*other.taskScheduler);
    visit.ComeBack();
    Lower(other, nullptr, waiter.task->told, 1);
    visit.GoOut();
}

// A fair pick takes one task of an old chunk. If the rest became the newest entry, it would run
// before all others. So it goes to Scheduler::behind. Fair picks take it from there, and so do
// workers that find no other work of its level. If the own deque is empty, it goes there.
void PutBack(Worker &worker, Chunk &chunk) noexcept {
    const Level level = chunk.level;
    if (chunk.isPinned) {
        worker.pinned[static_cast<uint32_t>(level.ThePriority())].PushFront(chunk);
        worker.filter.pinned |= Level(level.ThePriority()).Bit();
        worker.filter.isSpecial = true;
    } else if (chunk.isOld && !worker.queue[level.Index()].LooksEmpty()) {
        worker.scheduler->behind[level.Index()].Push(&chunk);
        Published(*worker.scheduler, &worker, level, 1);
    } else {
        PushEntry(worker, level, Entry::Of(chunk));
    }
}

void Release(Worker &worker, Chunk *chunk) noexcept {
    if (chunk == nullptr) return;
    Release(worker, chunk->Outer());
    PutBack(worker, *chunk);
}

}  // namespace

void Tell(Scheduler &scheduler, Worker *worker, uint32_t owner, bool picks) noexcept {
    const uint32_t index = owner & ~kOwnerKind, kind = owner & kOwnerKind;
    if (WEFT_LIKELY(kind == 0)) return MakeReady(scheduler, worker, scheduler.fibers[index], picks);
    switch (kind) {
        case kThreadOwner:
            return TellThread(scheduler, worker, scheduler.pools.threadWaiters.At(index));
        case kDeferredOwner:
            return Reach(scheduler, worker, scheduler.pools.deferred.At(index), 1);
        case kEndOwner:
            return EndIsLate(scheduler, *worker);
        default:
            return ReachAny(scheduler, worker, index);
    }
}

bool LowerNow(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n,
              bool picks) noexcept {
    const auto ready = [&](uint32_t owner) {
        // a deferred task begins after everything that the counter counted
        if (race::kFinder && (owner & kOwnerKind) == kDeferredOwner) race::SawCount(counter);
        Tell(scheduler, worker, owner, picks);
    };
    const CounterResult result =
        scheduler.counters.Lower(CounterAccess::Word(counter), n, CacheOf(worker), ready);
    return WEFT_LIKELY(result == CounterResult::Ok) ||
           ReportRefused(scheduler, "DecrementCounter", counter, result, n);
}

void Settle(Worker &worker, uint32_t running) noexcept {
    if (worker.claim == nullptr) return;
    Chunk &chunk = *worker.claim;
    if (chunk.begin <= chunk.settled + running) return;
    const uint32_t n = chunk.begin - chunk.settled - running;
    chunk.settled = static_cast<uint8_t>(chunk.settled + n);
    Ran(worker, chunk.of.TheCounter(), n);
}

// Adds to `counted` last. Otherwise the run could end first, the wait of an external thread be
// refused, and this function lower a counter that the thread has destroyed. release: PendingTasks.
void FlushNow(Worker &worker, bool picks) noexcept {
    Settle(worker, 1);
    const Finished all = std::exchange(worker.finished, {});
    if (all.tasks != 0) Lower(*worker.scheduler, &worker, *all.counter, all.tasks, picks);
    AddTo(worker.counted, all.uncounted, kRelease);
}

void BeginChunk(Worker &worker, Chunk &chunk) noexcept {
    Settle(worker, 1);
    chunk.next = worker.claim;
    chunk.settled = chunk.begin;
    worker.claim = &chunk;
}

void EndChunk(Worker &worker) noexcept {
    Chunk &chunk = *worker.claim;
    Settle(worker, 1);
    worker.claim = chunk.Outer();
    GiveChunk(*worker.scheduler, &worker, chunk);
}

void ReleaseClaims(Worker &worker) noexcept {
    if (worker.claim == nullptr) return;
    Settle(worker, 1);
    Release(worker, std::exchange(worker.claim, nullptr));
}

}  // namespace weft::internal
