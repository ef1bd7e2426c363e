// Deadlines: which worker handles them, and which worker sleeps only until the next one.
//
// A worker handles due deadlines between two pieces of work, while it searches, and when it wakes
// up. One of the workers that sleep is armed: it sleeps only until the earliest deadline
// (Scheduler::armedFor).
//
// No deadline is forgotten. A deadline that becomes the earliest is published like a task: it is
// written (Timers::Set), then a sleeper is woken if no worker searches (WakeForAny). A worker that
// will sleep announces that, then reads the earliest deadline, and arms itself unless another
// worker is armed for this deadline or an earlier one. All four are seq_cst. So by the proof in
// core/idle_set.h either the sleeper sees the deadline, or a sleeper or searcher reads the earliest
// deadline later and sees it. What the proof says of work that a searcher leaves behind holds here,
// too: if the last searcher continues with something else, it wakes the next sleeper, and that one
// arms itself.
//
// When an armed worker wakes up, it first disarms itself (CAS on armedFor). Then it is a searcher,
// and the above holds for it. In a mode other than Tasks (core/idle_set.h) it is no searcher; it
// wakes another sleeper in its place. A worker that blocks in a wait (WorkerMode::Nothing) is woken
// only by name. So it never relies on another worker: it always sleeps only until the earliest
// deadline.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"
#include "weft/time.h"

namespace weft::internal {

/// Returns the time with which deadlines are compared, in ns: env::Now(), or the virtual time.
inline uint64_t TimeOf(Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.order.isOn) ? scheduler.order.ReadClock() : env::Now();
}

/// Converts a point in time to ns of env::Now(). A time before the beginning of the clock has
/// passed. The last one never comes.
inline uint64_t NanosecondsOf(Clock::time_point time) noexcept {
    if (time == Clock::time_point::max()) return Timers::kNever;
    using std::chrono::nanoseconds;
    const auto count = std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
    return count > 0 ? static_cast<uint64_t>(count) : 0;
}

/// Notifies the owners of all deadlines that are due. `worker`: the caller's. Every worker calls
/// TellDueNow between two pieces of work; this costs one load unless there is a deadline
/// (Notices::kTimed).
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

/// Sets a timer. When the deadline is due, a worker calls `expiry`. `worker`: the caller's, or
/// null.
void SetTimer(Scheduler &scheduler, Worker *worker, Timer &timer, uint64_t deadline,
              Expiry expiry) noexcept;

/// Parks a worker that has announced that it sleeps. It sleeps until it is woken, or until the
/// earliest deadline if no other worker is armed for that. In a wait with OwnTasks it sleeps until
/// Worker::digAt at most. Returns true if the worker was woken. Otherwise it has to take its
/// announcement back.
bool ParkInTime(Worker *worker, WorkerMode mode) noexcept;

}  // namespace weft::internal
