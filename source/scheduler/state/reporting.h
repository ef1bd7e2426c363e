// How everything that is wrong reaches the user.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"
#include "weft/report.h"

namespace weft::internal {

#if defined(__clang__)
#define WEFT_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__)  // for Windows "printf" is the system's own, without %zu
#define WEFT_PRINTF_LIKE(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define WEFT_PRINTF_LIKE(text, first)
#endif

/// The thread's env::CallSlot() while it is in onReport: what it does wrong there goes to stderr,
/// or it would not come to an end. Otherwise its innermost ExternalCall (call.h), or null.
inline void *InReport() noexcept {
    static char mark;
    return &mark;
}

/// Takes a thread that reports out of the calls that it is in, as a guest of their schedulers, and
/// brings it back. `innermost`: null if it is in none. Defined in wait/leave_calls.cpp.
class ExternalCall;
void LeaveCalls(ExternalCall *innermost) noexcept;
void ReturnToCalls(ExternalCall *innermost) noexcept;

/// A user mistake: `what` is a printf format. Calls onReport, or writes one line to stderr. The
/// call that is wrong then has no effect.
void ReportMistake(const SchedulerOptions &options, ReportCode code, const char *hint,
                   const char *what, ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// The same for trouble that comes once a run: nothing is reported if `code` was before.
void ReportOnce(Scheduler &scheduler, ReportCode code, const char *hint, const char *what,
                ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// By ReportOnce.
bool WasReported(const Scheduler &scheduler, ReportCode code) noexcept;

/// `call` was given a counter that is in use with another scheduler.
void ReportWrongScheduler(const Scheduler &scheduler, const char *call,
                          const Counter &counter) noexcept;

/// A call in a child process, which has only the thread that forked.
void ReportForked(const SchedulerOptions &options, const char *call) noexcept;

/// True, after a report, if the calling thread is in a memory function of any host's
/// (memory_hook.h): `call` then has no effect. For who has found no worker, and before the gate, at
/// which such a thread must not wait.
bool IsRefusedInMemoryHook(const SchedulerOptions &options, const char *call) noexcept;

/// A task has forked, and goes on as a worker in the child: fatal.
[[noreturn]] void EndForkedTask(const Scheduler &scheduler) noexcept;

/// From a signal handler: onReport, or write(2) to stderr, without formatting. The process dies
/// afterwards, of the signal.
void ReportFault(const SchedulerOptions &options, const char *what, const char *hint,
                 const char *task) noexcept;

/// What cannot go on: reports, then aborts.
[[noreturn]] void ReportFatal(const SchedulerOptions &options, ReportCode code, const char *hint,
                              const char *what, ...) noexcept WEFT_PRINTF_LIKE(4, 5);

/// Aborts with the name of an invariant of source/README.md that does not hold.
[[noreturn]] void BrokenInvariant(const Scheduler &scheduler, const char *name) noexcept;

/// There is no memory for `count` tasks: fatal.
[[noreturn]] void OutOfMemory(const Scheduler &scheduler, uint32_t count) noexcept;

}  // namespace weft::internal

#define WEFT_INVARIANT(scheduler, condition, name)                         \
    do {                                                                   \
        if (WEFT_UNLIKELY(!(condition))) BrokenInvariant(scheduler, name); \
    } while (false)
