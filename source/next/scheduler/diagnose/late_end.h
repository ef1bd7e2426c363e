// The end of a run that takes long: EndDelayed, and what StopFor withdraws.
//
// A timer is due when the end has been wanted for long enough (run/ending.h). If StopFor has been
// called, the worker that takes the timer withdraws the tasks that wait for a time or a counter,
// and reports them. Otherwise it reports what the end waits for: at once if external threads delay
// it; else as soon as all workers are idle, because a task that runs may be all that is left.
//
// From then on such tasks are refused (MayDefer). A submission that has passed this check may come
// after the withdrawal. So the timer is set again and again until the run has ended.
#pragma once

#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Reports EndDelayed, once a run. `withdrawn`: a text of the `count` tasks that StopFor has
/// withdrawn, or null.
void ReportLateEnd(Scheduler &scheduler, Worker *worker, const char *withdrawn,
                   uint64_t count) noexcept;

/// Returns true if external threads keep the run from ending: they wait, or are attached.
inline bool AnyGuest(const Scheduler &scheduler) noexcept {
    // without workers Stop itself is attached
    return scheduler.guests.load(kSeqCst) > (scheduler.workerCount == 0 ? 1u : 0u);
}

/// Reports it if the timer was due and nothing was reported then. All workers are idle.
inline void ReportIfLate(Scheduler &scheduler) noexcept {
    // relaxed: a worker that has taken the timer comes here later
    if (WEFT_UNLIKELY(scheduler.lateEnd.isLate.load(kRelaxed)) &&
        (PendingTasks(scheduler) != 0 || AnyGuest(scheduler)) &&
        scheduler.lateEnd.isLate.exchange(false, kRelaxed))
        ReportLateEnd(scheduler, nullptr, nullptr, 0);
}

}  // namespace weft::internal
