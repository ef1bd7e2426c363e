// Functions of the host that weft calls: for memory, for threads, and to trace tasks and fibers.
// Each may be null.
//
//     weft::SchedulerOptions options;
//     options.trace.taskBegin = [](const weft::TraceEvent &event, void *) {
//         profiler::Begin(event.fiber, event.task);
//     };
//     options.trace.taskEnd = [](const weft::TraceEvent &event, void *) {
//         profiler::End(event.fiber);
//     };
//
// Keep profiler zones by fiber, not by thread: a task that waits may end on another thread, and
// other tasks run in between.
//
// A hook must not throw, and must not make a call of weft that waits (InHook is reported). Memory
// hooks may only make the calls that MemoryHooks lists.
#pragma once

#include "weft/counter.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// Functions that provide memory. Set `allocate` and `release` together, and `reserveStacks` and
/// `releaseStacks` together.
///
/// weft calls them in the middle of its work: a queue is about to grow, or an internal lock is
/// held. They may block their thread for a short time, on a lock of the host or in the system. Of
/// weft they may call only:
/// - Queries, on any scheduler: TaskScheduler::Current, CurrentWorker, CurrentFiber, WorkerCount
///   and PollCounter, Counter::Value, Now, IsCancelled, WorkerLocal::Get, FiberLocal::Get. These
///   answer as in the task or thread in which the hook was called. PollCounter does not first count
///   off the finished tasks of the caller.
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

    /// Returns `bytes` bytes, aligned to `alignment` (a power of two), or null. Any thread may call
    /// it, but not in the steady state.
    void *(*allocate)(size_t bytes, size_t alignment, void *user) = nullptr;
    /// Frees memory of `allocate`. `bytes` and `alignment` are those of the allocation.
    void (*release)(void *memory, size_t bytes, size_t alignment, void *user) = nullptr;

    /// Returns whole pages, aligned to a page, or null.
    ///
    /// Each run calls it once for all stacks of each stack class, and once for the reserve stacks
    /// of attached threads. For each stack of a class it asks for twice the bytes of the class and
    /// some pages, because a waiting task may run another one on top of its own frames (options.h).
    /// weft protects the guard pages by the means of the system, so the pages must come from the
    /// system.
    void *(*reserveStacks)(size_t bytes, void *user) = nullptr;
    /// Frees the pages of one call of `reserveStacks`.
    void (*releaseStacks)(void *memory, size_t bytes, void *user) = nullptr;
};

/// Functions that weft calls on each worker thread that it creates. They must not submit tasks.
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

/// The argument of a trace hook. A field that does not apply is 0 or null. `worker`, `fiber` or
/// `otherFiber` is kAnyWorker if there is none.
struct TraceEvent {
    uint32_t worker;         ///< The worker on which it happens.
    uint32_t fiber;          ///< The fiber that runs; in fiberSwitch the one that is left.
    uint32_t otherFiber;     ///< In fiberSwitch: the fiber that continues.
    uint32_t count;          ///< In submit: number of tasks; in wait and resume: the target value.
    const char *task;        ///< The name of the task, TaskOptions::name.
    const Counter *counter;  ///< In submit, wait and resume. May be destroyed after `resume`.
};

/// A function that is called with each event of one kind.
using TraceHook = void (*)(const TraceEvent &event, void *user);

/// Functions that weft calls when a task or a fiber begins, ends, waits or continues.
///
/// They run on the worker, in the middle of its work, so they must be fast. If no trace hook is
/// set, each place costs one predictable branch.
struct TraceHooks {
    void *user = nullptr;           ///< Passed to each of the functions.
    TraceHook taskBegin = nullptr;  ///< A task begins.
    TraceHook taskEnd = nullptr;    ///< A task has ended.
    /// The worker is about to switch to another fiber. Must not submit, because the run may be at
    /// its end.
    TraceHook fiberSwitch = nullptr;
    TraceHook submit = nullptr;  ///< A worker has submitted tasks. They may already run.
    TraceHook wait = nullptr;    ///< The fiber is about to be suspended.
    TraceHook resume = nullptr;  ///< The fiber continues after its wait.
    TraceHook park = nullptr;    ///< The worker is about to sleep. Must not submit.
    TraceHook unpark = nullptr;  ///< The worker has been woken. Must not submit.
};

/// The CPUs that the threads of weft may use. They never use a CPU that the process may not use.
struct Affinity {
    /// How the threads are bound to CPUs.
    enum class Kind : uint8_t {
        None,     ///< Not bound. weft spreads the threads at their start; then the system decides.
        Compact,  ///< Worker i is bound to usable CPU i, modulo the number of usable CPUs.
        Explicit  ///< Worker i is bound to the CPUs of its mask.
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
