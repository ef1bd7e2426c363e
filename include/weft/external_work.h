// Work that goes on where weft does not see it, and will lower a counter: a device, a network, a
// thread of yours.
//
//     #include <weft/external_work.h>
//
//     weft::Counter answered(1);
//     {
//         const weft::ExternalWork outside(*scheduler);
//         Ask(&answered);                               // the network thread will call
//         scheduler->DecrementCounter scheduler->WaitForCounter(&answered);
//     }
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// Declares such work. While one exists, the stalls Stalled, PoolEmpty and LargePoolEmpty are not
/// reported, because the run may go on by this work. Destroy it only after the counter has been
/// decremented. The scheduler must outlive it, and need not be running. Thread-safe.
class ExternalWork {
public:
    explicit ExternalWork(TaskScheduler &scheduler) noexcept : m_scheduler(scheduler) {
        Begin(scheduler);
    }
    ~ExternalWork() { End(m_scheduler); }
    ExternalWork(const ExternalWork &) = delete;
    ExternalWork &operator=(const ExternalWork &) = delete;

    /// For work that begins and ends in different places: as often the one as the other. Any
    /// thread.
    static WEFT_API void Begin(TaskScheduler &scheduler) noexcept;
    static WEFT_API void End(TaskScheduler &scheduler) noexcept;

private:
    TaskScheduler &m_scheduler;
};

}  // namespace weft
