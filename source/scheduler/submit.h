// Submitting tasks.
#pragma once

#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// Raises `counter` by `count` and makes copies of the tasks visible with one publication, in the
/// calling worker's lane. The arguments have been checked. False if the counter refused (reported):
/// then nothing was submitted.
bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept;

/// Submit for one task, not pinned.
void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept;

/// Tells of what was just published in the worker's own lane.
void ShowSpecialLane(Worker *worker, uint32_t lane) noexcept;
inline void ShowLane(Worker *worker, uint32_t lane) noexcept {
    if (WEFT_UNLIKELY(lane != LaneOf(Priority::Normal, StackClass::Small)))
        ShowSpecialLane(worker, lane);
}

/// The same of a High or Low level of which there is something.
void ShowLevel(Scheduler &scheduler, Level level) noexcept;

/// There is no memory for `count` tasks: fatal.
[[noreturn]] void OutOfMemory(const Scheduler &scheduler, uint32_t count) noexcept;

/// EnqueueHere (publish.h), called.
void Enqueue(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
             Label label) noexcept;

/// Tells the submit hook, if there is one.
void TraceSubmit(Worker *worker, uint32_t count, const Counter *counter, const char *name) noexcept;

/// Raises a counter; false if that was refused and reported.
bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept;
inline bool RaiseCounter(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    if (WEFT_LIKELY(scheduler.counters.TryAdd(CounterAccess::Word(counter), n))) return true;
    return RaiseOrReport(scheduler, counter, n);
}

}  // namespace weft::internal
