// Deadlines on the scheduler's side: who looks at them, and who sleeps until the next.
//
// A worker looks at them between two pieces of work, while it searches, and when it wakes up. Of
// those that sleep, one is armed: it sleeps until the earliest deadline only (Scheduler::armedFor).
//
// No deadline is forgotten. A deadline that becomes the earliest is published like a task: it is
// written (Timers::Set), then a sleeper is woken if nobody searches (WakeForAny); and a worker that
// will sleep announces that, then reads the earliest deadline, and arms itself unless somebody is
// armed for it or an earlier one. All four are seq_cst; so by the proof in idle_set.h either the
// sleeper sees the deadline, or a sleeper or searcher comes by here later and sees it. What is said
// there of work that a searcher leaves behind holds here too: when the last searcher goes on with
// something else, it wakes the next sleeper, which arms itself. Who is armed and is woken is armed
// no longer, and says so before it does anything else (CAS on armedFor). It is a searcher then,
// with all that follows; a starved one, which is none, wakes another sleeper in its place. A worker
// that blocks in a wait (WorkerMode::Nothing) is woken by name only, so it never relies on another
// one: it always sleeps until the earliest deadline only.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Tells the owners of all deadlines that are due. `worker`: the caller's. Every worker does
/// between two pieces of work while there is a deadline (Notices::kTimed).
void TellDue(Scheduler &scheduler, Worker *worker) noexcept;
inline void TellDueNow(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_LIKELY((scheduler.notices.Look() & Notices::kTimed) == 0)) return;
    if (!scheduler.timers.Any()) {
        scheduler.notices.Hide(Notices::kTimed,
                               [&] { return scheduler.timers.Next() != Timers::kNever; });
    } else if (WEFT_UNLIKELY(scheduler.timers.MayBeDue())) {
        TellDue(scheduler, worker);
    }
}

/// Sets a timer whose owner will be told by a worker. `worker`: the caller's.
void SetTimer(Scheduler &scheduler, Worker *worker, Timer &timer, uint64_t deadline,
              Expiry expiry) noexcept;

/// Parks a worker that has announced that it sleeps: until it is woken, or until the earliest
/// deadline if nobody else is armed for it; at most until Worker::digAt, if it waits with OwnTasks.
/// True if it was woken; otherwise it has to take its announcement back.
bool ParkInTime(Worker *worker, WorkerMode mode) noexcept;

}  // namespace weft::internal
