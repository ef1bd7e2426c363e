// What a scheduler does at the moment: its counts, and what its waiting tasks wait for.
//
//     #include <weft/inspect.h>
//
//     const weft::Statistics now = weft::GetStatistics(*scheduler);
//     overlay.Print("%u of %u fibers", now.smallFibersInUse, now.smallFibers);
//
//     weft::DescribeWaiters(*scheduler, [](const weft::Waiter &waiter, void *) {
//         if (waiter.cause == weft::WaitCause::Nobody) Log("%s waits for ever", waiter.task);
//     });
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/task_scheduler.h"

#include <cstdint>

namespace weft {

/// What one worker or attached thread has done since the run began.
struct WorkerStatistics {
    uint64_t submitted = 0;  ///< Tasks that were submitted on it.
    uint64_t finished = 0;   ///< Tasks that have finished on it.
    /// How often it ran a task, or part of a batch, on the stack of a task that waited for it.
    uint64_t inlineRuns = 0;
    uint64_t suspensions = 0;  ///< How often a wait or Yield suspended a fiber on it.
    /// How often it took tasks or a ready fiber from another worker.
    uint64_t steals = 0;
    uint64_t sleeps = 0;  ///< How often it fell asleep.
    uint64_t wakes = 0;   ///< How often it woke another worker.
};

/// The state of a scheduler. Times and tasks of a moment: while tasks run, the figures need not
/// belong to the same moment.
struct Statistics {
    WorkerStatistics total;         ///< The sums over all workers and attached threads.
    uint64_t submittedOutside = 0;  ///< Tasks that external threads have submitted.
    uint64_t pendingTasks = 0;      ///< Tasks that have been submitted and have not finished.
    uint32_t workers = 0;           ///< As TaskScheduler::WorkerCount.
    uint32_t attachedThreads = 0;
    uint32_t smallFibers = 0;         ///< The number of fibers in the pool.
    uint32_t smallFibersInUse = 0;    ///< How many run or hold a task.
    uint32_t smallFibersTouched = 0;  ///< How many have been used in this run; never fewer than
                                      ///< were in use at the same time.
    uint32_t largeFibers = 0;
    uint32_t largeFibersInUse = 0;
    uint32_t largeFibersTouched = 0;
};

/// Returns the state of the scheduler. Reads the fibers and workers one by one, without a lock and
/// without an effect on them.
///
/// All figures are 0 after a report (NotRunning). Thread-safe while the scheduler runs.
WEFT_API Statistics GetStatistics(TaskScheduler &scheduler) noexcept;

/// Returns what a worker has done. `worker`: its index, or that of an attached thread.
///
/// A slot to which no thread has been attached has zeros; so has a call after a report (BadOption,
/// NotRunning). Thread-safe while the scheduler runs.
WEFT_API WorkerStatistics GetWorkerStatistics(TaskScheduler &scheduler, uint32_t worker) noexcept;

/// Why a wait has not ended yet.
enum class WaitCause : uint8_t {
    /// The task waits for itself: a circle of tasks, of which each waits for a counter that the
    /// next one will decrement.
    Circle,
    /// No task decrements the counter. It is one that the host decrements, or belongs to an object
    /// of weft/sync/ that nobody sets or unlocks; or something has been forgotten.
    Nobody,
    Stuck,    ///< The tasks that decrement the counter wait themselves, and cannot continue.
    Unknown,  ///< Queued tasks, deferred tasks or ExternalWork may end the wait.
    Working   ///< Tasks that run or can continue will end the wait; or a deadline will.
};

/// A task or a thread that waits.
struct Waiter {
    /// The fiber of the task, as TaskScheduler::CurrentFiber; kAnyWorker for an external thread.
    uint32_t fiber = kAnyWorker;
    WaitCause cause = WaitCause::Unknown;
    bool isExternal = false;  ///< True: an external thread waits in a call.
    /// The name of the task (TaskOptions::name); null if it has none, and for a thread.
    const char *task = nullptr;
    /// What it waits for. Only to compare and print: the counter may be destroyed already.
    const Counter *counter = nullptr;
    /// A fiber whose task decrements the counter, and the name of its task. For Circle the next one
    /// in the circle. kAnyWorker and null if there is none.
    uint32_t byFiber = kAnyWorker;
    const char *byTask = nullptr;
};

/// Calls `tell(waiter, user)` for each task and thread that waits, and returns their number.
///
/// The order is that of WaitCause: what cannot end by itself comes first. If all workers sleep, the
/// causes are exact, as far as weft knows the tasks: it does not know which thread of the host will
/// decrement a counter. While tasks run, each answer may be out of date, and the names of the tasks
/// must live until the call returns. Takes memory from SchedulerOptions::memory for the call;
/// reports OutOfMemory and returns 0 if there is none. Thread-safe while the scheduler runs.
WEFT_API uint32_t DescribeWaiters(TaskScheduler &scheduler,
                                  void (*tell)(const Waiter &waiter, void *user),
                                  void *user = nullptr) noexcept;

}  // namespace weft
