// Handles due deadlines, and lets one sleeping worker wake up for the next one.
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Arms the caller for the deadline, unless another worker is armed for it or an earlier one.
// Returns true if the caller is armed. seq_cst, all accesses to armedFor: it is read after the
// announcement, and written before a searcher relies on it.
bool Arm(Scheduler &scheduler, uint64_t deadline) noexcept {
    uint64_t armed = scheduler.armedFor.load(kSeqCst);
    while (deadline < armed) {
        if (scheduler.armedFor.compare_exchange_strong(armed, deadline, kSeqCst, kSeqCst))
            return true;
    }
    return false;
}

// Disarms the caller. Does nothing if another worker has armed itself for an earlier deadline
// since.
void Disarm(Scheduler &scheduler, uint64_t deadline) noexcept {
    scheduler.armedFor.compare_exchange_strong(deadline, Timers::kNever, kSeqCst, kSeqCst);
}

// If there is a deadline, makes sure that another worker becomes armed: a searcher before it
// sleeps, or a sleeper that is woken.
void WakeForDeadlines(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.timers.Next() != Timers::kNever) WakeForAny(scheduler, worker);
}

}  // namespace

void TellDue(Scheduler &scheduler, Worker *worker) noexcept {
    Expiry expiry;
    ExpiryContext context{scheduler, worker};
    const bool isOrdered = scheduler.order.isOn;
    const uint64_t settled = isOrdered ? std::exchange(scheduler.order.settled, 0) : 0;
    while (scheduler.timers.TakeDue(isOrdered ? settled : env::Now(), expiry)) {
        Emit(scheduler, worker, TraceKind::Deadline);
        expiry.call(&context, expiry.owner);
    }
}

void SetTimer(Scheduler &scheduler, Worker *worker, Timer &timer, uint64_t deadline,
              Expiry expiry) noexcept {
    const bool isFirst = scheduler.timers.Set(timer, deadline, expiry);
    scheduler.notices.Show(Notices::kTimed);
    if (isFirst) WakeForAny(scheduler, worker);
}

namespace {

// ParkInTime with an order: the earliest deadline falls due at once. Without a deadline, work
// outside of weft is to wake the worker.
bool ParkOrdered(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t next = scheduler.timers.Next();
    if (next != Timers::kNever && scheduler.idle.IsAsleep(worker->index, mode)) {
        scheduler.order.PassTo(next);
        return false;
    }
    worker->parker.Park();
    return true;
}

}  // namespace

bool ParkInTime(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(scheduler.order.isOn)) return ParkOrdered(worker, mode);
    // An inactive worker does not handle deadlines.
    const uint64_t deadline =
        mode != WorkerMode::PinnedOnly ? scheduler.timers.Next() : Timers::kNever;
    // A worker that blocks in a wait is not woken when the armed worker continues with a task. So
    // it wakes up for the earliest deadline itself.
    const uint64_t look = mode == WorkerMode::OwnTasks  ? worker->digAt
                          : mode == WorkerMode::Nothing ? deadline
                                                        : Timers::kNever;
    const bool isArmed = WEFT_UNLIKELY(deadline != Timers::kNever) && Arm(scheduler, deadline);
    if (!isArmed && look == Timers::kNever) {
        worker->parker.Park();
        return true;
    }
    const bool woken = worker->parker.ParkUntil(isArmed ? std::min(deadline, look) : look);
    if (isArmed) {
        Disarm(scheduler, deadline);                                         // [order]
        if (mode != WorkerMode::Tasks) WakeForDeadlines(scheduler, worker);  // [re-check]
    }
    return woken;
}

}  // namespace weft::internal
