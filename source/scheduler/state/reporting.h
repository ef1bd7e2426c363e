// Reports to the host: about mistakes of the user, about stalls, and about errors in weft.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"
#include "weft/report.h"

namespace weft::internal {

#if defined(__clang__)
#define WEFT_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__)  // on Windows "printf" is the system's own, without %zu
#define WEFT_PRINTF_LIKE(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define WEFT_PRINTF_LIKE(text, first)
#endif

/// The value of env::CallSlot() while the thread is in onReport. What the thread does wrong there
/// goes to stderr, or one report could follow another without end. At other times the slot holds
/// the thread's innermost ExternalCall (external_call.h), or null.
inline void *InReport() noexcept {
    static char mark;
    return &mark;
}

/// LeaveCalls: the calling thread, which is about to report, leaves all calls that it is in. It
/// becomes a guest of their schedulers. ReturnToCalls brings it back. `innermost`: null if the
/// thread is in no call. Defined in wait/external.cpp.
class ExternalCall;
void LeaveCalls(ExternalCall *innermost) noexcept;
void ReturnToCalls(ExternalCall *innermost) noexcept;

/// Reports a mistake of the user. `what` is a printf format. Calls onReport, or writes one line to
/// stderr. The wrong call then has no effect.
void ReportMistake(const SchedulerOptions &options, ReportCode code, const char *hint,
                   const char *what, ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// The same, but at most once a run for each code.
void ReportOnce(Scheduler &scheduler, ReportCode code, const char *hint, const char *what,
                ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// The same, with a text of any length instead of a format.
void ReportTextOnce(Scheduler &scheduler, ReportCode code, const char *hint,
                    const char *what) noexcept;

/// Returns true if ReportOnce has reported the code in this run.
bool WasReported(const Scheduler &scheduler, ReportCode code) noexcept;

/// Reports that `call` was given a counter that another scheduler uses.
void ReportWrongScheduler(const Scheduler &scheduler, const char *call,
                          const Counter &counter) noexcept;

/// Reports that an exception has left a task. `what`: what the exception says; the report has up to
/// 200 bytes of it.
void ReportThrown(const Scheduler &scheduler, const char *what) noexcept;

/// Reports a call in a child process. Only the thread that forked exists there.
void ReportForked(const SchedulerOptions &options, const char *call) noexcept;

/// Returns true, after a report, if the calling thread is in a memory hook of any scheduler
/// (memory_hook.h). Then `call` has no effect. Used by calls that have found no worker, before they
/// come to the gate: a thread in a memory hook must not wait there.
bool IsRefusedInMemoryHook(const SchedulerOptions &options, const char *call) noexcept;

/// Reports that a task has forked and continued as a worker in the child process. Aborts.
[[noreturn]] void EndForkedTask(const Scheduler &scheduler) noexcept;

/// Reports a fault from a signal handler: calls onReport, or writes one line to stderr by one
/// write(2), without formatting. Afterwards the signal ends the process.
void ReportFault(const SchedulerOptions &options, const char *what, const char *hint,
                 const char *task) noexcept;

/// Reports an error after which weft cannot continue, and aborts.
[[noreturn]] void ReportFatal(const SchedulerOptions &options, ReportCode code, const char *hint,
                              const char *what, ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// Reports that an invariant of source/README.md does not hold, and aborts. `name`: the invariant.
[[noreturn]] void BrokenInvariant(const Scheduler &scheduler, const char *name) noexcept;

/// Reports that there is no memory to queue tasks, and aborts.
[[noreturn]] void OutOfMemory(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal

/// Aborts with a report if the condition does not hold.
#define WEFT_INVARIANT(scheduler, condition, name)                         \
    do {                                                                   \
        if (WEFT_UNLIKELY(!(condition))) BrokenInvariant(scheduler, name); \
    } while (false)
