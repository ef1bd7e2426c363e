// Submits tasks later: once counters have come down to a value, or at a deadline. Until then they
// hold no fiber. They count as submitted at once, so the run does not end before them.
#pragma once

#include "scheduler/state/scheduler.h"
#include "scheduler/submit/wake.h"
#include "weft/deferred.h"

namespace weft::internal {

/// The tasks of one call. The arguments have been checked.
struct LaterTasks {
    const char *call;  // its name, for reports
    uint32_t count;
    const Task *tasks;
    Counter *counter;
    const TaskOptions &options;
    DeferredHandle *handle = nullptr;  // stands for the tasks in WithdrawTasks
    // The one task goes on for the calling task, which ends right after: it has its unit of the
    // counter.
    bool goesOn = false;
    bool mustRun = false;  // StopFor does not withdraw it

    bool IsKept() const noexcept { return goesOn || mustRun; }
};

/// Returns false if tasks that wait for a time or a counter are withdrawn by now (StopFor). Reports
/// it, unless a PeriodicTask asks, which then ends.
bool MayDefer(Scheduler &scheduler, const TaskOptions &options, const char *call) noexcept;

/// Submits the tasks once each of `after` was at or below its value. `after` is only used during
/// the call. Returns at once, unless there is no memory for another wait record: then the call
/// waits itself (reported). A hook cannot wait, so it is refused. Returns false after a report.
/// Then a task that was to go on has waited itself, if that was for want of memory. `worker`: the
/// caller's, or null; it may be another one afterwards.
bool SubmitAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                 const CounterTarget *after, const LaterTasks &tasks) noexcept;

/// Submits the tasks at `deadline`. Returns false after a report.
bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline,
              const LaterTasks &tasks) noexcept;

/// Submits the tasks once `after` was at or below its value, or at `deadline`, whichever comes
/// first; at once if there is no memory for a wait record. Returns false after a report. Sets
/// `index` before the tasks can begin. The owner then calls EndAfterOrAt once, which returns true
/// if the counter was reached.
bool SubmitAfterOrAt(Scheduler &scheduler, Worker &worker, const CounterTarget &after,
                     uint64_t deadline, const LaterTasks &tasks, uint32_t &index) noexcept;
bool EndAfterOrAt(Worker &worker, const CounterTarget &after, uint32_t index) noexcept;

/// Returns a handle of the tasks that use the object of this index, or an empty one if none do.
///
/// acquire: pairs with the release that publishes the object. So its `counter` and `firesAt` are of
/// this use or of a later one, for which ReferTo fails. If no reference is left, this load saw the
/// end of a use. ReferTo might compare the references of the next use with the old `firesAt`.
inline DeferredHandle HandleOf(Scheduler &scheduler, uint32_t index) noexcept {
    const uint64_t state = scheduler.pools.deferred.At(index).state.load(kAcquire);
    if ((state & Deferred::kLeft) == 0) return {};
    return {index, static_cast<uint32_t>(state >> Deferred::kGenerationShift), scheduler.runNumber};
}
/// Refers to the tasks, so that their object stays, and sets the flags. Returns null if the tasks
/// were handed over. Call Reach for it. The thread that sets kWithdrawn hands them over.
Deferred *ReferTo(Scheduler &scheduler, DeferredHandle handle, uint64_t flags = 0) noexcept;

/// Withdraws the tasks, unless they were handed over. Then they count as finished soon. With
/// `replaces` a function that does nothing takes the place of theirs; otherwise their group skips
/// them. Returns false if it is too late.
bool WithdrawTasks(Scheduler &scheduler, Worker *worker, DeferredHandle handle,
                   bool replaces) noexcept;

/// The second half of WithdrawTasks. After the first half, ReferTo with kWithdrawn, the tasks are
/// the caller's, and so the group that counts them lives.
void DeliverClaimed(Scheduler &scheduler, Worker *worker, Deferred &deferred,
                    bool replaces) noexcept;

/// Calls tell(deferred, handle) for all tasks that wait for counters or for a time. The object
/// stays meanwhile.
template <class Tell>
void ForDeferred(Scheduler &scheduler, Worker *worker, Tell tell) noexcept {
    for (uint32_t index = 0; scheduler.pools.deferred.Has(index); ++index) {
        const DeferredHandle handle = HandleOf(scheduler, index);
        Deferred *const deferred = handle.IsEmpty() ? nullptr : ReferTo(scheduler, handle);
        if (deferred == nullptr) continue;
        tell(*deferred, handle);
        Reach(scheduler, worker, *deferred, 1);
    }
}

/// Returns how many tasks wait for counters. `timed`: also those that wait for a time.
uint32_t CountDeferred(Scheduler &scheduler, bool timed) noexcept;

/// Withdraws all tasks that this group counts. Takes time in proportion to the largest number of
/// deferred submissions in the run so far. One that is submitted at the same time withdraws itself,
/// if this does not see it.
void WithdrawBatchesOf(Scheduler &scheduler, Worker *worker, const Counter *group) noexcept;

}  // namespace weft::internal
