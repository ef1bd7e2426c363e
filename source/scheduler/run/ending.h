// The end of a run that takes long: EndDelayed, and what StopFor withdraws.
//
// A timer expires when the end has been wanted for long enough. If StopFor has been called, the
// worker that handles it withdraws the tasks that wait for a time or a counter, and reports them.
// Otherwise it reports what the end waits for; at once if external threads delay it, else as soon
// as all workers sleep (find/late_end.h), because a task that runs may be all that is left.
//
// From then on such tasks are refused. A submission that has passed this check may come after the
// withdrawal. So the timer is set again and again until the run has ended.
#pragma once

#include "scheduler/state/scheduler.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// Call when Stop was called, or when the main task has returned. `worker`: the caller's, or null.
/// `withdrawsAt`: when tasks are withdrawn, or kNever.
void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt) noexcept;

/// Returns false if tasks that wait for a time or a counter are withdrawn by now. Reports it,
/// unless a PeriodicTask asks, which then ends.
bool MayDefer(Scheduler &scheduler, const TaskOptions &options, const char *call) noexcept;

}  // namespace weft::internal
