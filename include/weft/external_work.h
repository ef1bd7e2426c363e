// Declares work outside weft (device, network, other thread) that will decrement a counter.
//
//     #include <weft/external_work.h>
//
//     weft::Counter answered(1);
//     {
//         const weft::ExternalWork request(*scheduler, "high scores");
//         Ask(&answered);  // the network thread will call scheduler->DecrementCounter(&answered)
//         scheduler->WaitForCounter(&answered);
//     }
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// Declares work that weft does not see, and that will let waiting tasks continue.
///
/// While an object of this class exists, the scheduler does not report Stalled and
/// OutOfFibers, because this work may end the stall. Destroy it only after the work has
/// decremented its counter. The scheduler must outlive it; it need not be running.
/// Thread-safe.
///
/// `name`: DescribeWaiters (weft/inspect.h) shows it for waits that this work may end. A scheduler
/// keeps at most seven names at a time; further ones are not shown. The string must stay valid
/// until the work has ended and no call of DescribeWaiters runs: use a literal. Null: no name.
class ExternalWork {
public:
    explicit ExternalWork(TaskScheduler &scheduler, const char *name = nullptr) noexcept
        : m_scheduler(scheduler), m_name(name) {
        Begin(scheduler, name);
    }
    ~ExternalWork() { End(m_scheduler, m_name); }
    ExternalWork(const ExternalWork &) = delete;
    ExternalWork &operator=(const ExternalWork &) = delete;

    /// Does what the constructor does, for work that begins and ends in different functions. Each
    /// Begin needs one End. Thread-safe.
    static WEFT_API void Begin(TaskScheduler &scheduler, const char *name = nullptr) noexcept;
    /// Does what the destructor does. Give it the name that Begin was given. Thread-safe.
    static WEFT_API void End(TaskScheduler &scheduler, const char *name = nullptr) noexcept;

private:
    TaskScheduler &m_scheduler;
    const char *m_name;
};

namespace internal {

/// Waits for a counter that a call of BlockingCalls, or an operation of AsyncIo, will lower.
/// Reports then say what the caller waits for.
WEFT_API void WaitForCall(TaskScheduler &scheduler, Counter &counter, bool isOperation) noexcept;

}  // namespace internal

}  // namespace weft
