// What a scheduler does at the moment: its counts, and what its waiting tasks wait for.
//
//     #include <weft/inspect.h>
//
//     const weft::Statistics now = weft::GetStatistics(*scheduler);
//     overlay.Print("%u of %u fibers", now.fibersInUse, now.fibers);
//
//     weft::DescribeWaiters(*scheduler, [](const weft::WaiterInfo &waiter, void *) {
//         const char *name = waiter.task != nullptr ? waiter.task : "a task without a name";
//         if (waiter.cause == weft::WaitCause::Cycle) engine::Log("deadlock", name);
//     });
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// What one worker or attached thread has done since the run began. A thread that attaches later
/// may continue the counts of one that has detached.
struct WorkerStatistics {
    uint64_t submitted = 0;  ///< Tasks that were submitted by code that ran on it.
    uint64_t finished = 0;   ///< Tasks that have finished on it.
    /// How often a waiting task ran a task that it waited for, or a part of a batch, on its own
    /// stack.
    uint64_t inlineRuns = 0;
    uint64_t suspensions = 0;  ///< How often a wait or Yield suspended a fiber on it.
    /// How often it took tasks or a ready fiber from another worker.
    uint64_t steals = 0;
    uint64_t sleeps = 0;  ///< How often it fell asleep.
    uint64_t wakes = 0;   ///< How often it woke another worker.
};

/// The state of a scheduler. While tasks run, the figures may come from slightly different moments.
struct Statistics {
    /// The sums over all workers and attached threads, also those that have detached.
    WorkerStatistics total;
    uint64_t submittedOutside = 0;  ///< Tasks of external threads. `total` does not count them.
    uint64_t pendingTasks = 0;      ///< Tasks that have been submitted and have not finished.
    uint32_t workers = 0;           ///< As TaskScheduler::WorkerCount.
    uint32_t attachedThreads = 0;   ///< Threads that are attached now.
    /// Fibers in the pool: SchedulerOptions::fibers, and one for each worker and each thread that
    /// may be attached.
    uint32_t fibers = 0;
    /// Fibers with a task that runs or waits. A worker that looks for work also uses one.
    uint32_t fibersInUse = 0;
    /// Fibers that have been used in this run: an upper bound of the most that were in use at the
    /// same time.
    uint32_t fibersTouched = 0;
    /// The most bytes of its stack that a measured task has used. Includes earlier runs with the
    /// same SchedulerOptions::stackMeter. 0 = no task was measured.
    size_t stackUsed = 0;
};

/// Returns the state of the scheduler.
///
/// Reads the fibers and workers one by one, without a lock and without an effect on them. If the
/// scheduler does not run, reports NotRunning and returns zeros. Thread-safe while the scheduler
/// runs.
WEFT_API Statistics GetStatistics(TaskScheduler &scheduler) noexcept;

/// Returns what a worker has done. `worker`: the index of a worker or of an attached thread
/// (TaskScheduler::CurrentWorker).
///
/// Returns zeros for an index that no thread has had yet. Reports BadOption for an index that no
/// thread can have, and NotRunning, and returns zeros then. Thread-safe while the scheduler runs.
WEFT_API WorkerStatistics GetWorkerStatistics(TaskScheduler &scheduler, uint32_t worker) noexcept;

/// Why a wait has not ended yet. If a task was submitted with a counter, weft knows that it will
/// decrement this counter at its end. With SchedulerOptions::lockHolders it also knows which tasks
/// hold a lock. It cannot know which calls your code will make, such as DecrementCounter.
enum class WaitCause : uint8_t {
    /// A deadlock: each task of a cycle waits for a counter that the next task would decrement, or
    /// for a lock that the next task holds.
    Cycle,
    /// No task decrements the counter at its end. Your code must decrement it, or set, unlock or
    /// release its object of weft/sync/. If that code is missing, this is a bug.
    Nobody,
    /// The tasks that would decrement the counter wait, too, and cannot continue. The waiter
    /// is in no cycle.
    Stuck,
    /// weft cannot tell: queued tasks, deferred tasks or ExternalWork may end the wait, or the task
    /// waits for one of several counters.
    Unknown,
    /// The tasks that decrement the counter run, or can continue; or the wait has a deadline.
    Working
};

/// A task or a thread that waits.
struct WaiterInfo {
    /// The fiber, as in TaskScheduler::CurrentFiber; kAnyWorker for an external thread.
    uint32_t fiber = kAnyWorker;
    WaitCause cause = WaitCause::Unknown;
    bool isExternal = false;  ///< True: an external thread waits in a call.
    /// The name of the task (TaskOptions::name). Null if it has none, and for a thread.
    const char *task = nullptr;
    /// The counter that it waits for. Compare or print the address only: the counter may have been
    /// destroyed. A wait for a time or for several counters uses a counter of weft.
    const Counter *counter = nullptr;
    /// The address of the Mutex or SharedMutex that it waits for, if the scheduler remembers the
    /// holders of locks (SchedulerOptions::lockHolders). Otherwise null.
    const void *lock = nullptr;
    /// The fiber and the name of a task that will decrement the counter or holds the lock. For
    /// Cycle: the next task of the cycle. kAnyWorker and null if there is none.
    uint32_t byFiber = kAnyWorker;
    const char *byTask = nullptr;
    /// If `cause` is Unknown and no known task decrements the counter: the name of an ExternalWork
    /// that may end the wait. Null if there is none, or if it has no name.
    const char *byWork = nullptr;
};

/// Calls `tell(waiter, user)` for each task and thread that waits, and returns their number.
///
/// Tasks that sleep are among them. The order is that of WaitCause: waits that cannot end by
/// themselves come first. If all workers sleep, the answer is consistent; while tasks run, each
/// cause may be out of date. The names of tasks must stay valid until the call returns, also those
/// of tasks that end meanwhile: use string literals. `tell` must not wait, and must not throw. The
/// call takes memory from SchedulerOptions::memory until it returns. If there is none, it reports
/// OutOfMemory and returns 0. Also returns 0 after a report of NotRunning or NullTask. Thread-safe
/// while the scheduler runs.
WEFT_API uint32_t DescribeWaiters(TaskScheduler &scheduler,
                                  void (*tell)(const WaiterInfo &waiter, void *user),
                                  void *user = nullptr) noexcept;

}  // namespace weft
