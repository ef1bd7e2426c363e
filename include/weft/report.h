// Reports of errors. weft passes each report to SchedulerOptions::onReport.
//
//     options.onReport = [](const weft::Report &report, void *) {
//         engine::Log(report.what, report.hint);
//     };
#pragma once

#include "weft/export.h"

#include <cstdint>

namespace weft {

class TaskScheduler;

/// The error that a report is about.
enum class ReportCode : uint16_t {
    /// A null task, function or callback; or a coroutine that was moved from or has begun.
    NullTask,
    NullCounter,  ///< A null counter where one is needed.
    BadOption,    ///< An option or argument out of its range.
    NotRunning,   ///< A call while the scheduler does not run.
    /// An external thread submits or waits while the run is ending; or a task that begins at a time
    /// or after a counter is submitted after StopFor has begun to withdraw such tasks. Reported
    /// once a run.
    RunEnding,
    /// The run cannot end, because tasks wait, external threads are in a call, or threads are
    /// attached. The text names them, and what StopFor has withdrawn. Reported once a run.
    EndDelayed,
    NotAWorker,  ///< A call that only a task or an attached thread may make.
    /// A call that this thread must not make; an unlock of something that is not locked; a second
    /// TicketQueue::Ticket::Done or Result::Set; or a post of a job that is posted already.
    WrongThread,
    /// A call that waits, in a hook of the host or in onReport; a submission in a hook that must
    /// not submit; or a call that a memory hook must not make (MemoryHooks).
    InHook,
    LeftAttached,   ///< An attached thread ended without detaching.
    Forked,         ///< A call in a forked child process, in which the workers do not exist.
    StackOverflow,  ///< A task has run over the end of its stack.
    /// A counter or an object of weft/sync/ was destroyed while a task or a thread waited for it
    /// (debug builds); a job was destroyed while it was posted; or a PostQueue while jobs waited in
    /// it; or the descriptors of an AsyncIo were closed, or the system now refuses io_uring.
    DestroyedInUse,
    /// An external thread waits, but there is no worker and no attached thread. The wait goes on.
    NoWorkers,
    CounterUnderflow,    ///< A decrement below zero.
    CounterOverflow,     ///< An increment past 2^32 - 1.
    WrongScheduler,      ///< A counter that another scheduler uses.
    TaskThrew,           ///< An exception left a task, or it called pthread_exit (fatal).
    FloatingPointState,  ///< A task changed the floating-point control words (debug builds).
    OutOfFibers,         ///< A task is to begin, but each fiber holds a task that waits.
    Stalled = 21,        ///< All workers sleep, and tasks wait for something that no worker runs.
    OutOfMemory,         ///< A queue could not grow, or there is no memory for a wait or a block.
    MemoryInUse,         ///< A tag of a TaggedHeap is freed while it is retained.
    MemoryLeaked,        ///< A TaggedHeap or a BlockPool is destroyed while its memory is in use.
    BrokenInvariant,     ///< An error in weft itself, or memory of weft was overwritten.
    /// No task has ended for watchdogMilliseconds, although tasks are pending and a worker or
    /// attached thread is awake. Reported once a run.
    NoProgress,
    WaitInScope,  ///< A call that waits in a scope of NoSuspend (weft/no_suspend.h).
    /// There is only one worker by default, because the process has one usable CPU, although the
    /// system would grant it more. Reported once a run.
    OneCpu,
};

/// Returns the name of the code in this header, such as "NullTask"; "unknown" for another value.
/// For logs. Thread-safe and async-signal-safe.
WEFT_API const char *NameOf(ReportCode code) noexcept;

/// One report. The strings live until onReport returns.
struct Report {
    ReportCode code;
    bool fatal;        ///< True: the process aborts after this report.
    const char *what;  ///< What is wrong, with the figures.
    const char *hint;  ///< How to correct it.
    const char *task;  ///< The name of the task that called, or that the report is about; or null.
};

namespace internal {

/// Reports a misuse that a header has found, through `scheduler`. The call then has no effect.
WEFT_API void ReportMisuse(const TaskScheduler &scheduler, ReportCode code, const char *hint,
                           const char *what) noexcept;

/// Call it first in each `catch (...)`. If the thread is being ended (pthread_exit,
/// pthread_cancel), aborts after a report, because a `catch (...)` cannot stop that.
WEFT_API void CheckThreadStays() noexcept;

/// Returns false, after a report, if the caller is in a memory hook. For functions that do more
/// than call the scheduler.
WEFT_API bool MayCall(const TaskScheduler &scheduler, const char *call) noexcept;

}  // namespace internal

}  // namespace weft
