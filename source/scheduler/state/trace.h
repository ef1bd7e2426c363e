// Tells the trace hook and the recorder what happens, and lets the StackMeter measure tasks. If
// there is none of these three, each event costs one predictable branch.
//
// An event comes before others can see what it says: Submit before the tasks can begin, Ready
// before the fiber can continue, Wake before the sleeper is woken. So if the clocks of all
// processors agree, the times of events that depend on each other are in the right order.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/stack_sample.h"

namespace weft::internal {

inline bool IsTraced(const Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.trace != nullptr);
}

/// Records the event, and calls the hook if it wants this kind. Before that tells OffCpu, if the
/// worker's thread was off its processor. Sets `kind`, `worker`, `fiber` and, if it is 0, `ticks`.
/// `worker`: the caller's, or null for a thread that is no worker of this scheduler.
void EmitNow(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept;

template <class Fill>
WEFT_NOINLINE void EmitFilled(Scheduler &scheduler, Worker *worker, TraceKind kind,
                              Fill fill) noexcept {
    TraceEvent event{};
    event.other = kAnyWorker;
    fill(event);
    EmitNow(scheduler, worker, kind, event);
}

/// Tells an event. `fill` sets the fields that the kind has.
template <class Fill>
WEFT_FORCEINLINE void Emit(Scheduler &scheduler, Worker *worker, TraceKind kind,
                           Fill fill) noexcept {
    if (IsTraced(scheduler)) EmitFilled(scheduler, worker, kind, fill);
}

inline void Emit(Scheduler &scheduler, Worker *worker, TraceKind kind) noexcept {
    Emit(scheduler, worker, kind, [](TraceEvent &) {});
}

/// What the events of a task say about it, besides its function and its name. Also its group.
struct Origin {
    Counter *counter;                  // counts the task; may be null
    uint32_t taskId;                   // the part of its number that the queue has kept
    uint32_t stolenFrom = kAnyWorker;  // the worker from which it was stolen
    bool isOfSlice = false;            // the next task of its slice may follow at once
    TaskGroup *group = nullptr;        // the counter, if that is a group
};

/// Each traced task of a run has its own number of 64 bits. A queue keeps the lower kTaskIdBits of
/// it. These are never 0: a 0 there stands for a task without a number.
///
/// NewTaskIds returns the first of `count` new numbers. FullTaskId restores a number from what the
/// queue has kept. It is exact while fewer than 2^kTaskIdBits tasks were submitted after the task.
uint64_t NewTaskIds(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept;
uint64_t FullTaskId(const Scheduler &scheduler, uint32_t id) noexcept;

/// Tells that a task begins (TaskBegin) or has ended (TaskEnd) on this fiber, and measures its
/// stack if there is a StackMeter. `sample`: the same object for both calls.
void TraceTask(Fiber *self, TraceKind kind, const Task &task, const Origin &origin,
               StackSample &sample) noexcept;

/// Writes the record of a TaskEnd that was kept back (Worker::keptEnd), if there is one.
///
/// If there is a recorder and no hook, the TaskEnd of a task of a slice is not recorded at once. If
/// the next task of the slice begins right after it, one record with one time says both. Otherwise
/// TellKeptEnd must be called before the worker does something else. Every other event of the
/// worker calls it. If there is a hook, TaskEnd is told at once, and only its time is kept for the
/// next TaskBegin.
void TellKeptEndNow(Worker *worker) noexcept;
inline void TellKeptEnd(Worker *worker) noexcept {
    if (WEFT_UNLIKELY(worker->endedAt != 0)) TellKeptEndNow(worker);
}

/// Numbers the tasks, and tells that they are submitted. Returns the part of the first number that
/// the queue keeps.
uint32_t TraceSubmit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                     const Counter *counter, Label label) noexcept;

}  // namespace weft::internal
