#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

// seq_cst, all of armedFor: it is read after the announcement, and written before a searcher relies
// on it.
bool Arm(Scheduler &scheduler, uint64_t deadline) noexcept {
    uint64_t armed = scheduler.armedFor.load(kSeqCst);
    while (deadline < armed) {
        if (scheduler.armedFor.compare_exchange_strong(armed, deadline, kSeqCst, kSeqCst))
            return true;
    }
    return false;
}

// Not if somebody else has armed himself for an earlier one since.
void Disarm(Scheduler &scheduler, uint64_t deadline) noexcept {
    scheduler.armedFor.compare_exchange_strong(deadline, Timers::kNever, kSeqCst, kSeqCst);
}

// Somebody else becomes armed: a searcher before it sleeps, or a sleeper that is woken.
void WakeForDeadlines(Scheduler &scheduler, Worker *worker) noexcept {
    if (scheduler.timers.Next() != Timers::kNever) WakeForAny(scheduler, worker);
}

}  // namespace

void TellDue(Scheduler &scheduler, Worker *worker) noexcept {
    Expiry expiry;
    ExpiryContext context{scheduler, worker};
    while (scheduler.timers.TakeDue(env::Now(), expiry)) expiry.call(&context, expiry.owner);
}

void SetTimer(Scheduler &scheduler, Worker *worker, Timer &timer, uint64_t deadline,
              Expiry expiry) noexcept {
    const bool isFirst = scheduler.timers.Set(timer, deadline, expiry);
    scheduler.notices.Show(Notices::kTimed);
    if (isFirst) WakeForAny(scheduler, worker);
}

bool ParkInTime(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // An inactive worker does not look after them.
    const uint64_t deadline =
        mode != WorkerMode::PinnedOnly ? scheduler.timers.Next() : Timers::kNever;
    // Nobody wakes a worker that blocks in a wait when the armed one goes on with a task. So it
    // looks after its deadline itself.
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
