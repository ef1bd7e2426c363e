// Building a report and passing it to the host.
#include "scheduler/state/reporting.h"

#include "platform/memory_hook.h"
#include "platform/thread_end.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft::internal {

namespace {

const char *CallingTask() noexcept {
    // also works in a memory hook
    const Worker *worker = static_cast<const Worker *>(MemoryHookCall::ThreadSlot());
    if (worker == nullptr || worker->current == nullptr) return nullptr;
    return worker->current->name.load(kRelaxed);
}

// Passes the report to onReport. Prints it to stderr if there is none, or if the thread is in
// onReport already. Aborts if the report is fatal. While the thread is in onReport, it has left all
// calls that it was in. If it is a worker, calls that wait are refused.
void DeliverText(const SchedulerOptions &options, ReportCode code, bool fatal, const char *hint,
                 const char *what) noexcept {
    const Report report{code, fatal, what, hint, CallingTask()};
    if (options.onReport != nullptr && env::CallSlot() != InReport()) {
        Worker *const worker = CurrentWorker();
        auto *const calls = static_cast<ExternalCall *>(env::ExchangeCallSlot(InReport()));
        LeaveCalls(calls);
        const bool wasInHook = worker != nullptr && std::exchange(worker->inHook, true);
        options.onReport(report, options.user);
        if (worker != nullptr) worker->inHook = wasInHook;
        env::ExchangeCallSlot(calls);
        ReturnToCalls(calls);
    } else {
        const char *task = report.task != nullptr ? report.task : "";
        std::fprintf(stderr, "weft: %s%s%s%s%s. %s\n", fatal ? "fatal: " : "",
                     *task != 0 ? "in task '" : "", task, *task != 0 ? "': " : "", what, hint);
    }
    if (fatal) std::abort();
}

// Formats the report first.
WEFT_PRINTF_LIKE(5, 0)
void Deliver(const SchedulerOptions &options, ReportCode code, bool fatal, const char *hint,
             const char *format, va_list arguments) noexcept {
    char what[512];
    std::vsnprintf(what, sizeof what, format, arguments);
    DeliverText(options, code, fatal, hint, what);
}

// Returns true for the first report with the code in this run. relaxed: only the thread that sets
// the bit reports. Nothing else depends on the bit.
bool IsFirst(Scheduler &scheduler, ReportCode code) noexcept {
    const uint32_t bit = 1u << static_cast<uint32_t>(code);
    return (scheduler.reported.fetch_or(bit, kRelaxed) & bit) == 0;
}

// The thread is being ended by pthread_exit or a cancellation. That cannot be stopped, and the
// tasks on this stack and on others need the thread.
[[noreturn]] void ReportThreadEnds() noexcept {
    const Worker *const worker = CurrentWorker();
    ReportFatal(worker != nullptr ? worker->scheduler->options : SchedulerOptions(),
                ReportCode::TaskThrew,
                "Return from the function instead. Run code that ends its thread on a thread of "
                "your own, and cancel no thread that runs tasks.",
                "pthread_exit was called in a task, or the thread was cancelled there; the task "
                "and its thread cannot end in this way");
}

// Returns true if a wait record of the counter is not one of deferred tasks that were withdrawn
// (Deferred). Removes none. relaxed: the record keeps the object, and the caller knows of the
// withdrawal.
bool IsAwaited(Scheduler &scheduler, const Counter &counter) noexcept {
    bool isAwaited = false;
    const auto look = [&](uint32_t owner, uint32_t) {
        const bool isDeferred = (owner & kOwnerKind) == kDeferredOwner;
        isAwaited = isAwaited || !isDeferred ||
                    (scheduler.pools.deferred.At(owner & ~kOwnerKind).state.load(kRelaxed) &
                     Deferred::kWithdrawn) == 0;
        return false;
    };
    scheduler.counters.RemoveIf(CounterAccess::Word(const_cast<Counter &>(counter)), kNoCache,
                                look);
    return isAwaited;
}

}  // namespace

void ReportMistake(const SchedulerOptions &options, ReportCode code, const char *hint,
                   const char *what, ...) noexcept {
    va_list arguments;
    va_start(arguments, what);
    Deliver(options, code, false, hint, what, arguments);
    va_end(arguments);
}

// relaxed: a hint that saves work.
bool WasReported(const Scheduler &scheduler, ReportCode code) noexcept {
    return (scheduler.reported.load(kRelaxed) & 1u << static_cast<uint32_t>(code)) != 0;
}

void ReportOnce(Scheduler &scheduler, ReportCode code, const char *hint, const char *what,
                ...) noexcept {
    if (!IsFirst(scheduler, code)) return;
    va_list arguments;
    va_start(arguments, what);
    Deliver(scheduler.options, code, false, hint, what, arguments);
    va_end(arguments);
}

void ReportTextOnce(Scheduler &scheduler, ReportCode code, const char *hint,
                    const char *what) noexcept {
    if (IsFirst(scheduler, code)) DeliverText(scheduler.options, code, false, hint, what);
}

void ReportFault(const SchedulerOptions &options, const char *what, const char *hint,
                 const char *task) noexcept {
    if (options.onReport != nullptr) {
        options.onReport({ReportCode::StackOverflow, true, what, hint, task}, options.user);
        return;
    }
    // One write: another worker may report a fault at the same time.
    char line[512];
    size_t length = 0;
    for (const char *text : {"weft: fatal: ", what, ". ", hint}) {
        while (*text != 0 && length < sizeof line - 2) line[length++] = *text++;
    }
    line[length] = '\n';
    line[length + 1] = 0;
    env::WriteError(line);
}

void ReportDestroyed(const Counter &counter) noexcept {
    const CounterWord word{CounterAccess::Word(counter).load(kRelaxed)};
    if (word.Head() == 0 || word.Tag() == 0) return;  // without a tag Find would take any scheduler
    SchedulerTag::Find(
        [&](void *found) {
            Scheduler &scheduler = *static_cast<Scheduler *>(found);
            if (!IsAwaited(scheduler, counter)) return true;
            ReportMistake(scheduler.options, ReportCode::DestroyedInUse,
                          "Let it live until every wait for it has returned.",
                          "counter %p is destroyed while somebody waits for it; it stands at %u",
                          static_cast<const void *>(&counter), word.Count());
            return true;
        },
        word.Tag());
}

void ReportWrongScheduler(const Scheduler &scheduler, const char *call,
                          const Counter &counter) noexcept {
    ReportMistake(scheduler.options, ReportCode::WrongScheduler,
                  "Give each scheduler counters of its own.",
                  "%s: counter %p is in use with another scheduler", call,
                  static_cast<const void *>(&counter));
}

void ReportThrown(const Scheduler &scheduler, const char *what) noexcept {
    ReportMistake(scheduler.options, ReportCode::TaskThrew,
                  "Catch it inside the task, and keep it (std::current_exception) where the waiter "
                  "finds it.",
                  "an exception left the task: %.200s; the task counts as finished", what);
}

void CheckThreadStays() noexcept { IfThreadEnds(ReportThreadEnds); }

void ReportForked(const SchedulerOptions &options, const char *call) noexcept {
    ReportMistake(
        options, ReportCode::Forked, "In a child process make a new TaskScheduler, or call exec.",
        "%s was called in a forked child process, in which the scheduler's threads do not exist",
        call);
}

bool IsRefusedInMemoryHook(const SchedulerOptions &options, const char *call) noexcept {
    if (WEFT_LIKELY(MemoryHookCall::Current() == nullptr)) return false;
    ReportMistake(options, ReportCode::InHook,
                  "Call it outside of the hook; MemoryHooks (weft/hooks.h) lists what a memory "
                  "hook may call.",
                  "%s was called by a memory hook", call);
    return true;
}

void EndForkedTask(const Scheduler &scheduler) noexcept {
    ReportFatal(scheduler.options, ReportCode::Forked,
                "In a child process call exec or _exit, or make a new TaskScheduler.",
                "a task forked, and went on as a worker in the child process, where the other "
                "workers do not exist");
}

void ReportFatal(const SchedulerOptions &options, ReportCode code, const char *hint,
                 const char *what, ...) noexcept {
    va_list arguments;
    va_start(arguments, what);
    Deliver(options, code, true, hint, what, arguments);
    va_end(arguments);
    std::abort();
}

void BrokenInvariant(const Scheduler &scheduler, const char *name) noexcept {
    ReportFatal(scheduler.options, ReportCode::BrokenInvariant,
                "Memory of weft was overwritten, or weft has a defect: run under AddressSanitizer, "
                "then tell us.",
                "broken invariant: %s", name);
}

[[noreturn]] void OutOfMemory(const Scheduler &scheduler) noexcept {
    ReportFatal(scheduler.options, ReportCode::OutOfMemory,
                "Give the process more memory, or submit less at once.",
                "no memory to queue tasks");
}

}  // namespace weft::internal

namespace weft {

// Without a default, so that the compiler warns of a code that has no name here.
const char *NameOf(ReportCode code) noexcept {
#define WEFT_NAME(code)    \
    case ReportCode::code: \
        return #code
    switch (code) {
        WEFT_NAME(NullTask);
        WEFT_NAME(NullCounter);
        WEFT_NAME(BadOption);
        WEFT_NAME(NotRunning);
        WEFT_NAME(RunEnding);
        WEFT_NAME(EndDelayed);
        WEFT_NAME(NotAWorker);
        WEFT_NAME(WrongThread);
        WEFT_NAME(InHook);
        WEFT_NAME(LeftAttached);
        WEFT_NAME(Forked);
        WEFT_NAME(StackOverflow);
        WEFT_NAME(DestroyedInUse);
        WEFT_NAME(NoWorkers);
        WEFT_NAME(CounterUnderflow);
        WEFT_NAME(CounterOverflow);
        WEFT_NAME(WrongScheduler);
        WEFT_NAME(TaskThrew);
        WEFT_NAME(FloatingPointState);
        WEFT_NAME(OutOfFibers);
        WEFT_NAME(Stalled);
        WEFT_NAME(OutOfMemory);
        WEFT_NAME(MemoryInUse);
        WEFT_NAME(MemoryLeaked);
        WEFT_NAME(BrokenInvariant);
        WEFT_NAME(NoProgress);
        WEFT_NAME(WaitInScope);
        WEFT_NAME(OneCpu);
    }
#undef WEFT_NAME
    return "unknown";
}

}  // namespace weft
