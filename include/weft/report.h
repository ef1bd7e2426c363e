// What weft says when something is wrong. Reports go to SchedulerOptions::onReport.
//
//     options.onReport = [](const weft::Report &report, void *) { engine::Log(report.what,
//     report.hint); };
#pragma once

#include "weft/export.h"

#include <cstdint>

namespace weft {

class TaskScheduler;

enum class ReportCode : uint16_t {
    /// Null tasks, functions or callbacks; a coroutine that was moved from or has begun
    NullTask,
    NullCounter,  ///< a null counter where one is needed
    BadOption,    ///< an option out of its range
    NotRunning,   ///< a call while the scheduler does not run
    /// A thread that is no worker submits or waits while the run is ending; once a run
    RunEnding,
    /// The run is to end, and threads that are no workers are still in a call, or attached; once a
    /// run
    EndDelayed,
    NotAWorker,  ///< a call that only a task or an attached thread may make
    /// A call that this thread may not make, or an unlock, a turn or a post that was not its due
    WrongThread,
    /// A call that waits, from one of the host's hooks or from onReport; any call from a memory
    /// hook
    InHook,
    LeftAttached,   ///< an attached thread ended without detaching
    Forked,         ///< a call in a child process, in which the workers do not exist
    StackOverflow,  ///< a task has run over the end of its stack
    /// A counter was destroyed while somebody waited for it (debug builds), or a job while it was
    /// posted, or their queue
    CounterDestroyed,
    NoWorkers,           ///< a wait while there is no worker and nobody is attached; it goes on
    CounterUnderflow,    ///< a decrement below zero
    CounterOverflow,     ///< an addition past 2^32 - 1
    WrongScheduler,      ///< a counter that another scheduler uses
    TaskThrew,           ///< an exception left a task
    FloatingPointState,  ///< a task returned with other floating-point control words (debug builds)
    PoolEmpty,           ///< every worker is out of small fibers and nothing is ready
    LargePoolEmpty,      ///< tasks wait for a large fiber, and every large fiber waits
    Stalled,             ///< all workers sleep, and fibers wait for what no worker runs
    OutOfMemory,         ///< a queue could not grow, or there is no memory for a wait or a block
    MemoryInUse,         ///< a tag of a TaggedHeap is freed while somebody has it retained
    MemoryLeaked,        ///< a TaggedHeap or a BlockPool ends while some of its memory is in use
    BrokenInvariant,     ///< weft itself, or memory that was overwritten
};

/// One report. The strings live until onReport returns.
struct Report {
    ReportCode code;
    bool fatal;        ///< true: the process aborts after this report
    const char *what;  ///< what was wrong, with the figures
    const char *hint;  ///< what to do about it
    const char *task;  ///< the name of the task that called or is concerned, or null
};

namespace internal {

/// Reports as `scheduler` does what a header found wrong with a call. The call then has no effect.
WEFT_API void ReportMisuse(const TaskScheduler &scheduler, ReportCode code, const char *hint,
                           const char *what) noexcept;

/// False, after a report, in a memory hook: for calls that are more than a call of the scheduler's.
WEFT_API bool MayCall(const TaskScheduler &scheduler, const char *call) noexcept;

}  // namespace internal

}  // namespace weft
