// A latch for tasks and threads: it opens once, after a number of events.
//
//     weft::Latch ready(scheduler, 3);
//     // each of three threads, or tasks: ready.count_down();
//     ready.wait();
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// A weft::Counter that is only decremented, with the interface of std::latch.
///
/// After wait has returned, everything that was written before each count_down is visible. Then the
/// latch may be destroyed at once, if nobody else waits. All calls but try_wait need a scheduler
/// that runs; otherwise they report NotRunning and have no effect. No call allocates.
class WEFT_API Latch {
public:
    /// Makes a latch that opens after `expected` events. `scheduler` must outlive it.
    Latch(TaskScheduler &scheduler, uint32_t expected) noexcept
        : m_scheduler(&scheduler), m_counter(expected) {}

    /// Counts `n` events. Does not run other tasks. Reports CounterUnderflow if fewer are expected,
    /// and then has no effect. Thread-safe.
    void count_down(uint32_t n = 1) noexcept { m_scheduler->DecrementCounter(&m_counter, n); }
    /// Returns true if all events have happened. Thread-safe.
    bool try_wait() noexcept { return m_scheduler->PollCounter(&m_counter); }
    /// Waits until all events have happened. Thread-safe.
    void wait() noexcept { m_scheduler->WaitForCounter(&m_counter); }
    /// Calls count_down and then wait. Thread-safe.
    void arrive_and_wait(uint32_t n = 1) noexcept {
        // If the scheduler does not run, this call is refused and reported. Then the two calls
        // below are left out, because each of them would report it again.
        Counter probe;
        if (m_scheduler->CurrentWorker() == kAnyWorker && !m_scheduler->IncrementCounter(&probe))
            return;
        count_down(n);
        wait();
    }

private:
    TaskScheduler *m_scheduler;
    Counter m_counter;
};

}  // namespace weft
