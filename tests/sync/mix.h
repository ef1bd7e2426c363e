// Tasks and external threads that do the same work at once.
#pragma once

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/task_scheduler.h"

#include <functional>

namespace test {

/// Starts a scheduler. `tasks` tasks and `threads` external threads call body(scheduler, index).
/// The tasks have the indices from 0 on, the threads those after them. Returns true if the run
/// ended and nothing but Stalled was reported.
inline bool RunMixed(const GridPoint &point, uint32_t tasks, uint32_t threads,
                     const std::function<void(weft::TaskScheduler &, uint32_t)> &body) {
    Runner runner(point);
    const weft::Status status =
        WhileItRuns(runner, Life::Start, [&](weft::TaskScheduler &scheduler) {
            Batch batch(tasks, body);
            weft::Counter counter;
            Threads others(threads, [&](uint32_t index) { body(scheduler, tasks + index); });
            scheduler.AddTasks(tasks, batch.Tasks(), &counter);
            others.Join();
            scheduler.WaitForCounter(&counter);
        });
    return status == weft::Status::Ok && Faults(runner.log).empty();
}

/// A scheduler without worker threads. The calling thread is attached, and runs tasks when it
/// yields. The order is always the same, so a test knows exactly when each task runs.
class OneThread {
public:
    OneThread() : m_runner(Options(0)) {
        m_isFit = m_runner.scheduler.Start() == weft::Status::Ok &&
                  m_runner.scheduler.AttachThread() == weft::Status::Ok;
    }
    ~OneThread() {
        m_runner.scheduler.WaitForCounter(&m_counter);
        m_runner.scheduler.DetachThread();
        m_runner.scheduler.Stop();
    }
    OneThread(const OneThread &) = delete;
    OneThread &operator=(const OneThread &) = delete;

    bool IsFit() const { return m_isFit; }
    weft::TaskScheduler &Scheduler() { return m_runner.scheduler; }
    ReportLog &Log() { return m_runner.log; }
    /// Submits a task that may outlive this call, and runs tasks until it waits or ends.
    template <class Body>
    void RunUntilItWaits(Body &body) {
        Scheduler().AddTask(weft::MakeTask(body), &m_counter);
        Settle();
    }
    /// Runs tasks until none can run.
    void Settle() {
        for (int i = 0; i < 16; ++i) Scheduler().Yield();
    }

private:
    Runner m_runner;
    weft::Counter m_counter;
    bool m_isFit = false;
};

}  // namespace test
