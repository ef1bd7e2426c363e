// Implements finish.h.
#include "scheduler/submit/finish.h"

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/ready.h"

#include <utility>

namespace weft::internal {

bool ReportRaise(Scheduler &scheduler, Counter &counter, CounterResult result) noexcept {
    if (result == CounterResult::OtherScheduler)
        ReportWrongScheduler(scheduler, "Submission", counter);
    else
        ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                      "counter %p would pass 2^32 - 1", static_cast<void *>(&counter));
    return false;
}

namespace {

// Of several records only the first one ends the wait. The last access to the wait lowers `all`.
// LowerNow tells the race finder nothing: only the winning counter comes before the end of the
// wait.
void ReachAny(Scheduler &scheduler, Worker *worker, uint32_t index) noexcept {
    const AnyRecord record = scheduler.anyRecords.At(index);
    scheduler.anyRecords.GiveBack(index, CacheOf(worker));
    AnyWait &wait = *record.wait;
    uint32_t none = AnyWait::kNone;
    // release: the waiter sees what the decrement of this counter has published
    if (wait.winner.compare_exchange_strong(none, record.which, kAcqRel, kRelaxed))
        LowerNow(scheduler, worker, wait.first, 1, false);
    LowerNow(scheduler, worker, wait.all, 1, false);
}

// A task of another scheduler is told as an external thread would do it. It is a guest here, and
// its scheduler stays while this thread is inside its gate.
void TellThread(ThreadWaiter &waiter) noexcept {
    if (WEFT_LIKELY(waiter.task == nullptr)) return waiter.parker.Unpark();
    Scheduler &other = *waiter.task->scheduler;
    EntryGate::Visit visit(*other.taskScheduler);
    visit.ComeBack();
    Lower(other, nullptr, waiter.task->told, 1);
    visit.GoOut();
}

}  // namespace

void Tell(Scheduler &scheduler, Worker *worker, uint32_t owner) noexcept {
    const uint32_t index = owner & ~kOwnerKind;
    switch (owner & kOwnerKind) {
        case 0:
            return MakeReady(scheduler, worker, scheduler.fibers[index]);
        case kThreadOwner:
            // relaxed, both: the waiter has written it before the record was published; a worker
            // that checks for a stall later has seen this thread's own sleep
            Emit(scheduler, worker, TraceKind::Ready,
                 scheduler.threadWaiters.At(index).waitsFor.load(kRelaxed));
            scheduler.threadWaiters.At(index).isTold.store(true, kRelaxed);
            return TellThread(scheduler.threadWaiters.At(index));
        case kDeferredOwner:
            return Reach(scheduler, worker, scheduler.deferred.At(index), 1);
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
        if (WEFT_LIKELY((owner & kOwnerKind) == 0))
            MakeReady(scheduler, worker, scheduler.fibers[owner], picks);
        else
            Tell(scheduler, worker, owner);
    };
    switch (scheduler.counters.Lower(CounterAccess::Word(counter), n, CacheOf(worker), ready)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "DecrementCounter", counter);
            return false;
        default:
            ReportMistake(
                scheduler.options, ReportCode::CounterUnderflow,
                "Lower a counter only by what was added to it; tasks lower theirs by "
                "themselves.",
                "counter %p would fall below zero: it stands at %u and was to be lowered by %u",
                static_cast<void *>(&counter), counter.Value(), n);
            return false;
    }
}

void Settle(Worker &worker, uint32_t running) noexcept {
    Chunk &chunk = *worker.claim;
    if (chunk.begin <= chunk.settled + running) return;
    const uint32_t n = chunk.begin - chunk.settled - running;
    chunk.settled = static_cast<uint8_t>(chunk.settled + n);
    Ran(worker, chunk.of.counter, n);
}

void FlushNow(Worker &worker, bool picks) noexcept {
    if (worker.claim != nullptr) Settle(worker, 1);
    if (worker.finished.tasks != 0)
        Lower(*worker.scheduler, &worker, *worker.finished.counter,
              std::exchange(worker.finished.tasks, 0), picks);
}

}  // namespace weft::internal
