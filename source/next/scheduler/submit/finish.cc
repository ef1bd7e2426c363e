// Implements finish.h.
#include "scheduler/submit/finish.h"

#include "scheduler/state/reporting.h"
#include "scheduler/submit/ready.h"

#include <utility>

namespace weft::internal {

bool RaiseNow(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    switch (scheduler.counters.Add(CounterAccess::Word(counter), n)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "Submission", counter);
            return false;
        default:
            ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                          "counter %p would pass 2^32 - 1", static_cast<void *>(&counter));
            return false;
    }
}

bool Lower(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept {
    const auto ready = [&](uint32_t owner) {
        if ((owner & kThreadOwner) == 0)
            MakeReady(scheduler, worker, scheduler.fibers[owner]);
        else
            scheduler.threadWaiters.At(owner & ~kThreadOwner).parker.Unpark();
    };
    switch (scheduler.counters.Lower(CounterAccess::Word(counter), n, CacheOf(worker), ready)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "DecrementCounter", counter);
            return false;
        default:
            ReportMistake(scheduler.options, ReportCode::CounterUnderflow,
                          "Decrement a counter once for each increment and for each task.",
                          "counter %p would fall below zero", static_cast<void *>(&counter));
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

void FlushNow(Worker &worker) noexcept {
    if (worker.claim != nullptr) Settle(worker, 1);
    if (worker.finished.tasks != 0)
        Lower(*worker.scheduler, &worker, *worker.finished.counter,
              std::exchange(worker.finished.tasks, 0));
}

}  // namespace weft::internal
