// Tells the trace hook and the recorder what happens, and lets the StackMeter measure tasks
// (diagnose/trace.cpp). If there is none of these three, each event costs one predictable branch.
//
// Traced tasks have numbers (Chunk::number, Entry::Number).
//
// An event comes before others can see what it says: Submit before the tasks can begin, Ready
// before the fiber can continue, Wake before the sleeper is woken. So if the clocks of all
// processors agree, the times of events that depend on each other are in the right order.
#pragma once

#include "core/stack_meter_access.h"
#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

struct TraceRecord;

/// Begins to trace if the options ask for it. Returns false if there is no memory.
bool BeginTracing(Scheduler &scheduler) noexcept;
void EndTracing(Scheduler &scheduler) noexcept;

inline bool IsTraced(const Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.tracing != nullptr);
}

/// Records the event, and calls the hook if it wants this kind. Before that tells OffCpu, if the
/// worker's thread was off its processor. Sets `kind`, `worker`, `fiber` and, if it is 0, `ticks`.
/// `worker`: the caller's, or null for a thread that is no worker of this scheduler.
void EmitEvent(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept;

/// Tells an event with these fields. Events of waits, and Yield, also have the name of the task.
void EmitNow(Scheduler &scheduler, Worker *worker, TraceKind kind, const Counter *counter,
             uint32_t count, uint32_t other) noexcept;
WEFT_FORCEINLINE void Emit(Scheduler &scheduler, Worker *worker, TraceKind kind,
                           const Counter *counter = nullptr, uint32_t count = 0,
                           uint32_t other = kAnyWorker) noexcept {
    if (IsTraced(scheduler)) EmitNow(scheduler, worker, kind, counter, count, other);
}

/// Tells that the wait of this fiber is over.
void EmitReady(Scheduler &scheduler, Worker *worker, Fiber &fiber) noexcept;

/// Tells that the worker is about to switch to this fiber.
void EmitSwitch(Worker &worker, const Fiber &to) noexcept;

/// Numbers the tasks, and tells that they are submitted. Returns the lower half of the first
/// number.
uint32_t TraceSubmit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level) noexcept;
/// The same for chunks of deferred tasks, which are handed over now.
void TraceDeferred(Scheduler &scheduler, Worker *worker, const ChunkList &tasks) noexcept;

/// Measures how much of its fiber's stack a task uses (stack_sample.cpp). The object lies in the
/// frame of the function that calls the task. Only the thread that runs the fiber uses it.
class StackSample {
public:
    /// Call it right before a task, on the fiber of the task. Begins to measure the task, if the
    /// meter chooses it.
    ///
    /// `bottom`: the lowest byte of the fiber's stack. Null for a thread's own stack: then the
    /// task is not measured. `inner`: of the fiber. Until End it points to this object. If the
    /// task runs on top of another one, the measurement of that one pauses until End.
    void Begin(StackMeter &meter, char *bottom, StackSample *&inner, const char *name,
               TaskFunction function) noexcept;

    /// Call it right after the task. Returns how many bytes of stack it has used, or 0 if it was
    /// not measured.
    size_t End(char *bottom, StackSample *&inner) noexcept;

private:
    void Look(char *bottom) noexcept;

    StackMeterAccess::Entry *m_entry = nullptr;  // null: the task is not measured
    StackSample *m_outer = nullptr;              // of the task on top of which this one runs
    const char *m_top = nullptr;                 // the task's frames begin here or lower
    const char *m_lowest = nullptr;              // the lowest word known to be used
};

/// While it lives, a traced task runs on the fiber: tells TaskBegin and TaskEnd, and measures the
/// stack if there is a StackMeter.
class TracedTask {
public:
    /// `task` and `of` must live as long. `number`: the lower half of its number. `stolenFrom`: a
    /// worker, or kAnyWorker. `isInChunk`: the next task of its chunk may follow at once.
    TracedTask(Fiber &self, const Task &task, const TasksOf &of, uint32_t number,
               uint32_t stolenFrom, bool isInChunk) noexcept;
    ~TracedTask();
    TracedTask(const TracedTask &) = delete;
    TracedTask &operator=(const TracedTask &) = delete;

private:
    void Tell(TraceKind kind, uint64_t ticks, uint32_t other, uint32_t count = 0) noexcept;
    // inline: a copy would read two wide words right after four narrow stores, which is slow
    TraceRecord RecordAt(uint64_t ticks, uint32_t kind) const noexcept;

    Fiber &m_self;
    const Task &m_task;
    const TasksOf &m_of;
    const uint32_t m_stolenFrom;
    const bool m_isInChunk;
    uint64_t m_id = 0, m_outerId = 0;
    StackSample m_sample;
};

/// Writes the record of a TaskEnd that was kept back, if there is one.
///
/// If there is a recorder and no hook, the TaskEnd of a task of a chunk is not recorded at once. If
/// the next task of the chunk begins right after it, one record with one time says both. Otherwise
/// TellKeptEnd must be called before the worker does something else. Every other event of the
/// worker calls it. If there is a hook, TaskEnd is told at once, and only its time is kept for the
/// next TaskBegin.
void TellKeptEnd(Worker &worker) noexcept;

/// Returns the number of the task that the fiber runs, or 0.
uint64_t TaskOn(const Scheduler &scheduler, const Fiber &fiber) noexcept;

}  // namespace weft::internal
