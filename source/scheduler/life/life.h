// Begins and ends runs, and the threads in them: those that weft makes, those that the host
// provides (SchedulerOptions::hostThreads), and attached threads, which run tasks while they wait.
//
// A worker is absent while no thread runs it. A thread of the host that takes a worker is inside
// the entry gate meanwhile. So none is taken once the run has ended. Then Stop, or Run, waits until
// all threads of the host have left.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

// Runs (lifecycle.cpp).

/// Implements TaskScheduler::Run. The options and the task have been checked.
Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept;

/// Implements TaskScheduler::Start.
Status StartScheduler(TaskScheduler &taskScheduler) noexcept;

/// Implements TaskScheduler::Stop, for a scheduler that was started. At `withdrawsAt` (or kNever)
/// withdraws what StopFor does. Returns true if all tasks have run.
bool StopScheduler(TaskScheduler &taskScheduler, uint64_t withdrawsAt) noexcept;

// The threads of workers (worker_thread.cpp).

/// The entry function of a thread that weft makes. Returns when the run ends. `worker`: the Worker.
void WorkerThread(void *worker);

/// Runs the worker on the calling thread until the run ends, without names, places and hooks.
void ThreadMain(Worker &worker) noexcept;

/// The result of RunAbsentWorker.
struct Taken {
    Worker *worker = nullptr;  // null: it was not taken. The scheduler may be gone now
    uint32_t workers = 0;      // how many there are
    bool isRunning = false;    // the scheduler runs
    bool isEnding = false;     // Stop was called, and may run the worker itself
    bool isForked = false;     // this is a child process
};

/// Takes an absent worker for the calling thread, which must not be inside the gate, and runs it
/// until the run ends. Takes none if the threads are not those of the host. Reports nothing.
Taken RunAbsentWorker(TaskScheduler &taskScheduler, uint32_t index) noexcept;

/// Runs all absent workers in turn on the calling thread, until the run ends.
void RunAbsentWorkers(Scheduler &scheduler) noexcept;

// Attached threads (attach.cpp).

/// Makes the calling thread, which is inside the gate, a worker. `toStop`: for Stop, which must
/// continue without memory.
Status Attach(Scheduler &scheduler, bool toStop = false) noexcept;

/// Runs what is pinned to the calling thread or lies in its deques. Then it is no worker any more.
void Detach(Worker &worker) noexcept;

}  // namespace weft::internal
