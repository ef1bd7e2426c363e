// Functions of the host that weft calls: memory, threads, and what tasks and fibers do. All may be
// left null.
//
//     weft::SchedulerOptions options;
//     options.trace.taskBegin = [](const weft::TraceEvent &event, void *) {
//     profiler::Begin(event.fiber, event.task); }; options.trace.taskEnd = [](const
//     weft::TraceEvent &event, void *) { profiler::End(event.fiber); };
//
// Keep zones by fiber, not by thread: a task that waits ends on another thread, perhaps, and other
// tasks run in between.
//
// They must not throw, and must not call anything of weft that waits (reported). Those for memory
// may only ask: see MemoryHooks.
#pragma once

#include "weft/counter.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// Where memory comes from. Give `allocate` and `release` together, and `reserveStacks` and
/// `releaseStacks` together.
///
/// They are called in the middle of weft's work: a queue is about to grow, or an internal lock is
/// held. They may block their thread for a short while, on a lock of the host's or in the system.
/// Of weft they may call
/// - queries, on any scheduler: Current, CurrentWorker, CurrentFiber, WorkerCount, PollCounter,
/// Counter::Value, Now,
///   IsCancelled, WorkerLocal::Get, FiberLocal::Get. They answer as in the task or the thread that
///   the function was called on. PollCounter does not let the caller's own finished tasks count
///   first;
/// - AboutToBlock, which has no effect there, ExternalWork, SleepFor and SleepUntil, which block
/// the thread;
/// - allocations from a TaggedHeap or a ScratchArena.
///
/// Any other call, on any scheduler, has no effect there and is reported (InHook): nothing is
/// submitted or posted, no counter moves, no wait waits, and nothing is started, attached or
/// stopped. A Status is NotRunning then; other results are those after any report. The same holds
/// for an onReport that is called from there.
///
/// Calls that cannot be refused keep their promise:
/// - weft/sync/ works as elsewhere if no call there has to wait or to wake a waiter. Otherwise the
/// call is reported. A call that has
///   to wait looks again and again, for ever if no other worker can end the wait. A wait for a
///   condition variable returns at once. A call that unlocks, sets, releases or notifies wakes the
///   waiters;
/// - BlockingCalls::Run is reported and makes its call, while the thread is blocked;
/// - the ends of PostQueue, PostedJob and BlockingCalls block the thread. A TaskScheduler that was
/// started must not end there.
struct MemoryHooks {
    void *user = nullptr;  ///< handed to each of them

    /// `bytes` aligned to `alignment` (a power of two), or null. Any thread; never in the steady
    /// state.
    void *(*allocate)(size_t bytes, size_t alignment, void *user) = nullptr;
    /// What `allocate` gave, with the same figures.
    void (*release)(void *memory, size_t bytes, size_t alignment, void *user) = nullptr;

    /// Whole pages for all stacks of one class, aligned to a page, or null; once a class and run.
    /// For each stack this asks for twice the bytes of its class and some pages, because a waiting
    /// task may run another one on top of its own frames (options.h). weft sets the guard pages in
    /// them by the system's own means, so it must be memory of the system's.
    void *(*reserveStacks)(size_t bytes, void *user) = nullptr;
    void (*releaseStacks)(void *memory, size_t bytes, void *user) = nullptr;
};

/// On each thread that weft makes, first and last. `worker`: its index. They must not submit
/// either.
///
/// A task begins with the floating-point control words (rounding, flush-to-zero, exception masks:
/// MXCSR and the x87 control word, or FPCR) of the thread of the worker that it begins on: as
/// `onStart` has left them; for worker 0 of Run those of the calling thread; for an attached thread
/// those that it had in AttachThread. They stay with the task until it ends, also when it goes on
/// on another worker after a wait. So to have flush-to-zero everywhere, set it in `onStart` and in
/// the thread that calls Run or attaches. Without `onStart` the threads have the control words of
/// the thread that called Run or Start. A task that a waiting task runs on its own stack begins
/// with that task's.
struct ThreadHooks {
    void *user = nullptr;
    void (*onStart)(uint32_t worker, void *user) = nullptr;
    void (*onStop)(uint32_t worker, void *user) = nullptr;
};

/// What a trace hook is told. What does not apply is 0 or null; fibers and workers that are none
/// are kAnyWorker.
struct TraceEvent {
    uint32_t worker;         ///< that it happens on
    uint32_t fiber;          ///< that runs; for fiberSwitch the one that is left
    uint32_t otherFiber;     ///< fiberSwitch: the one that goes on
    uint32_t count;          ///< submit: how many tasks; wait, resume: the value that is waited for
    const char *task;        ///< the name that the task was submitted with
    const Counter *counter;  ///< submit, wait, resume. After `resume` it may be gone
};

using TraceHook = void (*)(const TraceEvent &event, void *user);

/// Called on the worker, in the middle of things: be quick. Without any of them each place costs
/// one predictable branch.
struct TraceHooks {
    void *user = nullptr;
    TraceHook taskBegin = nullptr;
    TraceHook taskEnd = nullptr;
    /// Before it; must not submit either: the run may be at its end
    TraceHook fiberSwitch = nullptr;
    TraceHook submit = nullptr;  ///< by a worker; after the tasks were published
    TraceHook wait = nullptr;    ///< the fiber is about to be suspended
    TraceHook resume = nullptr;  ///< it goes on
    TraceHook park = nullptr;    ///< the worker is about to sleep; must not submit either
    TraceHook unpark = nullptr;  ///< it has been woken; must not submit either
};

/// Which CPUs the threads that weft makes may use. Never more than the process may.
struct Affinity {
    enum class Kind : uint8_t {
        None,     ///< the system decides, once weft has spread the threads as they begin
        Compact,  ///< worker i keeps to the i-th usable CPU, modulo their number
        Explicit  ///< worker i keeps to its mask
    };
    Kind kind = Kind::None;
    uint32_t maskWords = 0;  ///< Explicit: 64-bit words in each mask, 1 to 1024
    /// Explicit: one mask for each worker, bit 0 of word 0 is CPU 0; read by Run and Start
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
