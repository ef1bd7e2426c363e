// Functions of the host that weft calls: for memory, for threads, and to trace tasks and fibers.
// Each may be null.
//
//     weft::SchedulerOptions options;
//     options.trace.event = [](const weft::TraceEvent &event, void *) {
//         if (event.kind == weft::TraceKind::TaskBegin) profiler::Begin(event.fiber, event.task);
//         if (event.kind == weft::TraceKind::TaskEnd) profiler::End(event.fiber);
//     };
//
// Keep profiler zones by fiber, not by thread: a task that waits may end on another thread, and
// other tasks run in between.
//
// A hook must not throw, and must not make a call of weft that waits (InHook is reported). Memory
// hooks may only make the calls that MemoryHooks lists.
#pragma once

#include "weft/counter.h"
#include "weft/task.h"

#include <cstddef>
#include <cstdint>

namespace weft {

class TaskScheduler;

/// Functions that provide memory. Set `allocate` and `release` together, and `reserveStacks` and
/// `releaseStacks` together.
///
/// weft calls them in the middle of its work: a queue is about to grow, or an internal lock is
/// held. They may block their thread for a short time, on a lock of the host or in the system. Of
/// weft they may call only:
/// - Queries, on any scheduler: TaskScheduler::Current, CurrentWorker, CurrentFiber, CurrentTask,
///   WorkerCount, MaxConcurrency and PollCounter, Counter::Value, Now, IsCancelled,
///   WorkerLocal::Get, FiberLocal::Get. These answer as in the task or thread in which the hook was
///   called. PollCounter does not first count off the finished tasks of the caller.
/// - PrepareToBlock, which has no effect there; ExternalWork; SleepFor and SleepUntil, which block
///   the thread.
/// - Allocations from a TaggedHeap or a ScratchArena.
///
/// Any other call, on any scheduler, is reported (InHook) and has no effect: it submits and posts
/// nothing, changes no counter, does not wait, and does not start, attach or stop anything. If the
/// call returns a Status, that is NotRunning; other results are as after any report. The same holds
/// for an onReport that is called from there.
///
/// Some calls cannot be refused. They keep their promise:
/// - Objects of weft/sync/ work as elsewhere, unless a call has to wait or to wake a waiter. Such a
///   call is reported. If it has to wait, it polls, for ever if no other worker can end the wait;
///   but a wait for a condition variable returns at once. A call that unlocks, sets, releases or
///   notifies wakes the waiters.
/// - BlockingCalls::Run is reported, and makes its call while the thread is blocked.
/// - The destructors of PostQueue, PostedJob and BlockingCalls block the thread. A TaskScheduler
///   that was started must not be destroyed there.
struct MemoryHooks {
    void *user = nullptr;  ///< Passed to each of the functions.

    /// Returns `bytes` bytes, aligned to `alignment` (a power of two), or null. Memory with a wrong
    /// alignment is given back, and counts as null (OutOfMemory). Any thread may call it, but not
    /// in the steady state.
    void *(*allocate)(size_t bytes, size_t alignment, void *user) = nullptr;
    /// Frees memory of `allocate`. `bytes` and `alignment` are those of the allocation.
    void (*release)(void *memory, size_t bytes, size_t alignment, void *user) = nullptr;

    /// Returns whole pages, aligned to a page, or null.
    ///
    /// Each run calls it once for all stacks, and once for the reserve stacks of attached threads.
    /// For each stack it asks for twice SchedulerOptions::stackBytes and some pages, because a
    /// waiting task may run another one on top of its own frames.
    /// weft protects the guard pages by the means of the system, so the pages must come from the
    /// system.
    void *(*reserveStacks)(size_t bytes, void *user) = nullptr;
    /// Frees the pages of one call of `reserveStacks`.
    void (*releaseStacks)(void *memory, size_t bytes, void *user) = nullptr;
};

/// Gives back memory that a scheduler has needed only for a while: the stacks of fibers that are
/// free, grown queues that are empty, and pools.
///
/// Call it when the load is over. The call waits up to two milliseconds for workers to sleep.
/// Memory of workers that are still busy stays. Meanwhile tasks may begin, and deadlines may be
/// noticed, up to two milliseconds late. Later calls may allocate again. Reports NotRunning.
/// Thread-safe while the scheduler runs.
WEFT_API void TrimMemory(TaskScheduler &scheduler) noexcept;

/// Functions that weft calls on each worker thread: those that it creates, and those that call
/// RunWorker. They must not submit tasks.
///
/// `worker` is the index of the worker.
///
/// A task begins with the floating-point control words of its worker's thread: rounding mode,
/// flush-to-zero and exception masks (MXCSR and the x87 control word, or FPCR). These are the words
/// as `onStart` has left them; on worker 0 of Run, those of the thread that called Run; on an
/// attached thread, those that it had in AttachThread. Without `onStart` a worker thread has the
/// control words of the thread that called Run or Start. A task that a waiting task runs on its own
/// stack begins with the words of the waiting task.
///
/// A task keeps its control words until it ends, also if it continues on another worker after a
/// wait. So to have flush-to-zero everywhere, set it in `onStart` and in each thread that calls Run
/// or attaches.
struct ThreadHooks {
    void *user = nullptr;                                    ///< Passed to both functions.
    void (*onStart)(uint32_t worker, void *user) = nullptr;  ///< The thread has begun.
    void (*onStop)(uint32_t worker, void *user) = nullptr;   ///< The thread is about to end.
};

/// What a TraceEvent says. The table in include/weft/README.md lists the fields that each kind
/// sets.
enum class TraceKind : uint8_t {
    TaskBegin,    ///< A task begins.
    TaskEnd,      ///< A task has ended.
    FiberSwitch,  ///< The worker is about to switch to another fiber. (1)
    /// Tasks are being submitted. They begin after this event. For a task of AddTaskAfter or
    /// AddTaskAt it comes only when the counter has dropped or the time has come. In this case the
    /// hook must not submit tasks.
    Submit,
    Wait,         ///< A wait begins that suspends its fiber, or blocks its external thread.
    Resume,       ///< The fiber or external thread continues after its wait.
    Park,         ///< The worker is about to sleep. (1)
    Unpark,       ///< The worker has been woken. (1)
    Satisfied,    ///< A wait returns at once, because its condition holds already. (1)
    Ready,        ///< A wait is over: another fiber or thread can continue. (1)
    Increment,    ///< IncrementCounter has been called. (1)
    Decrement,    ///< DecrementCounter is about to decrement. (1)
    Deadline,     ///< A deadline is due: that of a wait, a sleep or AddTaskAt. (1)
    Yield,        ///< The task yields.
    Wake,         ///< A sleeping worker is about to be woken. (1)
    TakeInbox,    ///< The worker has taken tasks that external threads have submitted. (1)
    Attach,       ///< The thread has become a worker.
    Detach,       ///< The thread is about to detach.
    CallBegin,    ///< A blocking call begins on a thread of BlockingCalls. (1)
    CallEnd,      ///< The blocking call has returned. (1)
    Frame,        ///< MarkFrame has been called, or a frame of a FramePipeline ends.
    CounterName,  ///< NameCounter has been called.
    StackUse,     ///< A task is about to end, and its stack was measured. (1)
    /// The thread of a worker was off its processor for some time between its last event and the
    /// next one: preempted, or blocked in the system. A worker's sleep between Park and Unpark does
    /// not count. Linux with glibc only. (1)
    OffCpu,
    // The last three only with SchedulerOptions::lockHolders, of a Mutex or SharedMutex.
    LockWait,  ///< A task or thread wants a lock, and may wait for it. (1)
    Lock,      ///< It has the lock now. (1)
    Unlock,    ///< It is about to unlock it. (1)
};
inline constexpr uint32_t kTraceKinds = 27;

/// The argument of the trace hook. A field that does not apply is 0 or null.
struct TraceEvent {
    TraceKind kind;
    Priority priority;  ///< Of the tasks that are submitted.
    uint32_t worker;    ///< The worker on which it happens; kAnyWorker on an external thread.
    uint32_t fiber;     ///< The fiber that runs; on an external thread a number of that thread.
    /// The other fiber, or the other worker: see TraceKind. kAnyWorker if there is none.
    uint32_t other;
    /// A number of tasks, by how much a counter changes, the target value of a wait, the number of
    /// a frame, the bytes of StackUse, or the nanoseconds of OffCpu (at most 2^32 - 1).
    uint32_t count;
    /// When it happens, in ticks of the processor's clock (TraceTicksPerMicrosecond).
    uint64_t ticks;
    /// Identifies a task: no two tasks of a run have the same number. In Submit that of the first
    /// task; the others follow.
    uint64_t taskId;
    const char *task;         ///< The name of the task (TaskOptions::name) or counter.
    TaskFunction function;    ///< The function of the task. In Submit that of the first task.
    void (*call)(void *arg);  ///< The function of a blocking call.
    void *arg;                ///< The argument of the task or call.
    const Counter *counter;   ///< The counter. It may be destroyed after the event.
    const void *lock;         ///< The address of the lock. In LockWait null: it has given up.
};

/// A function that is called with each event.
using TraceHook = void (*)(const TraceEvent &event, void *user);

/// A function that weft calls when a task begins or ends, a fiber waits, a worker sleeps, and so on
/// (TraceKind).
///
/// It runs on the thread on which the event happens, in the middle of weft's work, so it must be
/// fast. In an event that is marked (1) in TraceKind, and in each event of an external thread, it
/// must not submit tasks. Without a hook, a recorder and a stack meter, each event costs one
/// predictable branch.
struct TraceHooks {
    void *user = nullptr;       ///< Passed to the function.
    TraceHook event = nullptr;  ///< Called with each event of the chosen kinds.
    uint32_t kinds = ~0u;       ///< The chosen kinds: bit i is the TraceKind with the value i.

    /// Returns the bit of a kind.
    static constexpr uint32_t Bit(TraceKind kind) noexcept {
        return 1u << static_cast<uint32_t>(kind);
    }
};

/// The CPUs that the threads of weft may use. include/weft/README.md says which CPUs are usable.
struct Affinity {
    /// How the threads are bound to CPUs.
    enum class Kind : uint8_t {
        /// Not bound: each thread may use all usable CPUs, even if its creator is bound. weft
        /// spreads the threads over the CPUs when they start. After that, the system decides.
        None,
        Compact,  ///< Worker i is bound to usable CPU i, modulo the number of usable CPUs.
        Explicit  ///< Worker i is bound to those CPUs of its mask that the system grants.
    };
    Kind kind = Kind::None;
    uint32_t maskWords = 0;  ///< For Explicit: number of 64-bit words in each mask, 1 to 1024.
    /// For Explicit: one mask for each worker. Bit 0 of word 0 is CPU 0. Run and Start copy them.
    const uint64_t *masks = nullptr;
};

namespace internal {

/// Allocates with the hooks, or with the aligned operator new if there are none. The memory is not
/// initialised. Returns null if there is none.
WEFT_API void *AllocateWith(const MemoryHooks &hooks, size_t bytes, size_t alignment) noexcept;
/// Frees what AllocateWith returned for the same hooks, size and alignment. Null is allowed.
WEFT_API void ReleaseWith(const MemoryHooks &hooks, void *memory, size_t bytes,
                          size_t alignment) noexcept;

}  // namespace internal

}  // namespace weft
