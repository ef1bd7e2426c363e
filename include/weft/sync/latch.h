// A number of things that have to happen once.
//
//     weft::Latch ready(scheduler, 3);
//     // each of three threads, or tasks: ready.count_down();
//     ready.wait();
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// As std::latch: a weft::Counter that is only lowered, with a scheduler. Whoever returns from wait
/// sees what was done before each count_down, and may destroy it at once, if nobody else waits. No
/// call allocates. All calls but try_wait while the scheduler runs; others are reported
/// (NotRunning) and have no effect, and so is counting below zero (CounterUnderflow).
class WEFT_API Latch {
public:
    Latch(TaskScheduler &scheduler, uint32_t expected) noexcept
        : m_scheduler(&scheduler), m_counter(expected) {}

    /// Any thread; never runs others.
    void count_down(uint32_t n = 1) noexcept { m_scheduler->DecrementCounter(&m_counter, n); }
    /// Whether all has happened. Any thread.
    bool try_wait() noexcept { return m_scheduler->PollCounter(&m_counter); }
    /// Any thread.
    void wait() noexcept { m_scheduler->WaitForCounter(&m_counter); }
    void arrive_and_wait(uint32_t n = 1) noexcept {
        Counter probe;  // if nothing runs it is not raised, and that is reported: once is enough
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
