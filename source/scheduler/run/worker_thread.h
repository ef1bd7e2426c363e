// The threads of workers: those that weft makes, and those that the host provides
// (SchedulerOptions::hostThreads).
//
// A worker is *absent* while no thread runs it. Other workers do not wake it, and AllAsleep does
// not count it. A thread that takes a worker is inside the entry gate (entry_gate.h) meanwhile. So
// none is taken once the run has ended. Then Stop, or Run, waits until all host threads have left.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// The entry function of a thread that weft makes. Returns when the run ends. `worker`: the Worker.
void WorkerThread(void *worker);

/// The result of TakeWorker.
struct Taken {
    Worker *worker = nullptr;  // null: it was not taken
    uint32_t workers = 0;      // how many there are
    bool isRunning = false;    // the scheduler runs
    bool isEnding = false;     // Stop was called, and may run the worker itself
    bool isForked = false;     // this is a child process
};

/// Takes the first absent worker with an index in [first, end) for the calling thread, which must
/// not be inside the gate. Takes none if the threads are not those of the host. Reports nothing.
Taken TakeWorker(TaskScheduler &taskScheduler, uint32_t first, uint32_t end) noexcept;

/// Runs the worker that the calling thread of the host has taken, until the run ends. The scheduler
/// may have been destroyed when this returns.
void HostThread(Worker &worker) noexcept;

/// Waits until no thread of the host runs a worker from `first` on. The run has ended, or is about
/// to end.
void AwaitHostThreads(Scheduler &scheduler, uint32_t first) noexcept;

}  // namespace weft::internal
