// Raises and lowers counters. While a worker runs tasks of one counter one after the other, it
// lowers this counter once for several of them.
//
// The claim: the chunks that a worker runs at the moment, innermost first. They are nested because
// a task that waits may run tasks on its own stack. Whenever a worker leaves a fiber, its claim is
// empty (ReleaseClaims). So if a chunk is still in the claim when one of its tasks returns, the
// worker has never left the fiber, and the chunk belongs to it. Otherwise it was freed or put back,
// and may be in use elsewhere. Only the innermost chunk can have finished tasks that are not
// counted (Settle).
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Reports why the counter refuses to be raised or lowered by `n`. Returns false.
bool ReportRefused(Scheduler &scheduler, const char *call, Counter &counter, CounterResult result,
                   uint32_t n) noexcept;
/// Raises the counter by `n`. Returns false, after a report, if the counter refuses that.
inline bool RaiseNow(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    const CounterResult result = scheduler.counters.Add(CounterAccess::Word(counter), n);
    return WEFT_LIKELY(result == CounterResult::Ok) ||
           ReportRefused(scheduler, "Submission", counter, result, n);
}
void FlushNow(Worker &worker, bool picks) noexcept;
/// Does what RaiseNow does, but first subtracts the worker's finished tasks of this counter from
/// `n`. `worker`: the caller's, or null.
///
/// This would hide a value that the counter has had for a moment. So if anyone waits for a value
/// above zero (kForValue), Raise first lowers the counter by the finished tasks.
inline bool Raise(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n) noexcept {
    if (worker != nullptr && WEFT_UNLIKELY(scheduler.notices.Has(Notices::kForValue)))
        FlushNow(*worker, false);
    // below zero after HandOn
    if (worker != nullptr && worker->finished.counter == &counter &&
        static_cast<int32_t>(worker->finished.tasks) > 0) {
        const uint32_t both = n < worker->finished.tasks ? n : worker->finished.tasks;
        worker->finished.tasks -= both;
        n -= both;
        if (n == 0) return true;
    }
    return RaiseNow(scheduler, counter, n);
}

/// Tells the owner that its wait record was reached or its timer is due. `picks`: see MakeReady.
void Tell(Scheduler &scheduler, Worker *worker, uint32_t owner, bool picks = false) noexcept;

/// Lowers the counter by `n`, and makes its waiters ready. Returns false, after a report, if the
/// counter refuses that. `picks`: see MakeReady.
bool LowerNow(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n,
              bool picks) noexcept;
/// Does the same. Fast if nobody waits.
inline bool Lower(Scheduler &scheduler, Worker *worker, Counter &counter, uint32_t n,
                  bool picks = false) noexcept {
    race::CountsOff(counter);
    return WEFT_LIKELY(scheduler.counters.LowerPlain(CounterAccess::Word(counter), n)) ||
           LowerNow(scheduler, worker, counter, n, picks);
}

/// Moves the finished tasks of the innermost chunk, if there is one, to Worker::finished.
/// `running`: 1 if one of its tasks has begun and not finished, else 0.
void Settle(Worker &worker, uint32_t running) noexcept;

/// Counts all finished tasks, and lowers their counter. `picks`: see MakeReady.
inline void Flush(Worker &worker, bool picks = false) noexcept {
    if (worker.claim != nullptr || (worker.finished.tasks | worker.finished.uncounted) != 0)
        FlushNow(worker, picks);
}

/// `n` tasks of the counter have finished. Call Flush before the worker does anything but tasks of
/// this counter. A waiter for a value above zero has them counted off after each task.
WEFT_FORCEINLINE void Ran(Worker &worker, Counter *counter, uint32_t n) noexcept {
    race::Finishes(worker.scheduler);
    AddTo(worker.ended, n, kRelaxed);  // relaxed: a figure
    if (counter != nullptr) {
        if (WEFT_UNLIKELY(worker.finished.counter != counter)) {
            Flush(worker);
            worker.finished.counter = counter;
        }
        worker.finished.tasks += n;
    }
    worker.finished.uncounted += n;
}

/// The running task ends right after this call. Another task takes its place in `counter`. So the
/// number of finished tasks is decremented here, and wraps if it is 0. Ran then increments it.
inline void HandOn(Worker &worker, Counter *counter) noexcept {
    if (worker.finished.counter != counter) {
        Flush(worker);
        worker.finished.counter = counter;
    }
    --worker.finished.tasks;
}

/// Adds the chunk to the claim.
void BeginChunk(Worker &worker, Chunk &chunk) noexcept;
/// The last task of the innermost chunk has begun: takes the chunk off the claim, and frees it.
void EndChunk(Worker &worker) noexcept;

/// Puts back what this worker has taken and not begun, the outermost chunk first.
void ReleaseClaims(Worker &worker) noexcept;

}  // namespace weft::internal
