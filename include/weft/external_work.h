// Declares work outside weft that will decrement a counter: in a device, a network or another
// thread.
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
/// While an object of this class exists, the scheduler does not report Stalled, OutOfSmallFibers
/// and OutOfLargeFibers, because this work may end the stall. Destroy the object only after the
/// counter has been decremented. The scheduler must outlive it, and need not be running.
/// Thread-safe.
///
/// `name`: what DescribeWaiters (weft/inspect.h) says about waits that this work may end. Up to
/// seven names are kept at a time; work beyond them has no name. The string must stay valid until
/// the work ends and calls of DescribeWaiters have returned: use a literal. Null: no name.
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

}  // namespace weft
