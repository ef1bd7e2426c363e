// Tells the host's trace hook what happens. If there is no hook, each event costs one predictable
// branch.
//
// An event comes before others can see what it says: Submit before the tasks can begin, Ready
// before the fiber can continue, Wake before the sleeper is woken. So if the clocks of all
// processors agree, the times of events that depend on each other have their order.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/stack_sample.h"

namespace weft::internal {

inline bool IsTraced(const Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.trace != nullptr);
}

/// Calls the hook, if it wants this kind. Sets `kind`, `worker`, `fiber` and, if it is 0, `ticks`.
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

/// What a trace says of a task that begins, beside its function and its name.
struct Origin {
    Counter *counter;                  // counts the task; may be null
    uint32_t taskId;                   // what the queue has kept of its number
    uint32_t stolenFrom = kAnyWorker;  // the worker from which it was stolen
};

/// Numbers of tasks. Each task of a run has its own, 64 bits wide; a queue keeps the lower
/// kTaskIdBits of it. These are never 0, and 0 stands for a task that was submitted without a hook.
/// FullTaskId is exact while fewer than 2^kTaskIdBits tasks have been submitted since the task.
uint64_t NewTaskIds(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept;
uint64_t FullTaskId(const Scheduler &scheduler, uint32_t id) noexcept;

/// Tells that a task begins (TaskBegin) or has ended (TaskEnd) on this fiber. `sample`: the same
/// object for both.
void TraceTask(Fiber *self, TraceKind kind, const Task &task, const Origin &origin,
               StackSample &sample) noexcept;

/// The end of a task is kept back, because another task may begin at once: then both get one record
/// and one time. Call this when the worker will do something else. Each other event does it, too.
void TellKeptEndNow(Worker *worker) noexcept;
inline void TellKeptEnd(Worker *worker) noexcept {
    if (WEFT_UNLIKELY(worker->endedAt != 0)) TellKeptEndNow(worker);
}

/// Adds a WaitFrame to the fiber while this object exists: tasks of `counter` may run on top of it.
class Awaits {
public:
    Awaits(Fiber *fiber, Counter *counter) noexcept
        : m_fiber(fiber), m_frame{counter, fiber->waits} {
        m_fiber->waits = &m_frame;
    }
    ~Awaits() {
        m_fiber->waits = m_frame.outer;
        TellKeptEnd(m_fiber->worker);
    }
    Awaits(const Awaits &) = delete;
    Awaits &operator=(const Awaits &) = delete;

private:
    Fiber *m_fiber;
    const WaitFrame m_frame;
};

/// Numbers the tasks, and tells that they are submitted. Returns what the queue keeps of the first
/// number.
uint32_t TraceSubmit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                     const Counter *counter, Label label) noexcept;

}  // namespace weft::internal
