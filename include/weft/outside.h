// Work that goes on where weft does not see it, and will lower a counter: a device, a network, a thread of yours.
//
//     #include <weft/outside.h>
//
//     weft::Counter answered(1);
//     {
//         const weft::OutsideWork outside(*scheduler);
//         Ask(&answered);                               // the network thread will call scheduler->DecrementCounter
//         scheduler->WaitForCounter(&answered);
//     }
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// Declares such work. While one exists, the stalls OnlyWaiters, PoolEmpty and LargePoolEmpty are not reported, because the run may go on
/// by this work. Destroy it only after the counter has been decremented. The scheduler must outlive it, and need not be running.
/// Thread-safe.
class OutsideWork {
public:
    explicit OutsideWork(TaskScheduler &scheduler) noexcept : m_scheduler(scheduler) { Begin(scheduler); }
    ~OutsideWork() { End(m_scheduler); }
    OutsideWork(const OutsideWork &) = delete;
    OutsideWork &operator=(const OutsideWork &) = delete;

    /// For work that begins and ends in different places: as often the one as the other. Any thread.
    static WEFT_API void Begin(TaskScheduler &scheduler) noexcept;
    static WEFT_API void End(TaskScheduler &scheduler) noexcept;

private:
    TaskScheduler &m_scheduler;
};

}  // namespace weft
