// Declares work outside weft that will decrement a counter: in a device, a network or another
// thread.
//
//     #include <weft/external_work.h>
//
//     weft::Counter answered(1);
//     {
//         const weft::ExternalWork request(*scheduler);
//         Ask(&answered);  // the network thread will call scheduler->DecrementCounter(&answered)
//         scheduler->WaitForCounter(&answered);
//     }
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// Declares work that weft does not see, and that will let waiting tasks continue.
///
/// While an object of this class exists, the scheduler does not report Stalled, OutOfSmallFibers
/// and OutOfLargeFibers, because this work may end the stall. Destroy the object only after the
/// counter has been decremented. The scheduler must outlive it, and need not be running.
/// Thread-safe.
class ExternalWork {
public:
    explicit ExternalWork(TaskScheduler &scheduler) noexcept : m_scheduler(scheduler) {
        Begin(scheduler);
    }
    ~ExternalWork() { End(m_scheduler); }
    ExternalWork(const ExternalWork &) = delete;
    ExternalWork &operator=(const ExternalWork &) = delete;

    /// Does what the constructor does, for work that begins and ends in different functions. Each
    /// Begin needs one End. Thread-safe.
    static WEFT_API void Begin(TaskScheduler &scheduler) noexcept;
    /// Does what the destructor does. Thread-safe.
    static WEFT_API void End(TaskScheduler &scheduler) noexcept;

private:
    TaskScheduler &m_scheduler;
};

}  // namespace weft
