// The caller of a public function: a worker or an external thread, and what it may do. Unless their
// comments say otherwise, checks (Is, Are, May) return false after a report; then the public call
// has no effect.
#pragma once

#include "scheduler/state/external_call.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/external.h"
#include "weft/deferred.h"

#include <algorithm>
#include <new>

namespace weft::internal {

/// Returns the time in nanoseconds of env::Now(). Times before zero are zero. The last time there
/// is never comes (kNever).
inline uint64_t NanosecondsOf(Clock::time_point time) noexcept {
    if (time == Clock::time_point::max()) return Timers::kNever;
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
    return since.count() > 0 ? static_cast<uint64_t>(since.count()) : 0;
}

// Returns the calling thread's worker, or null. Also works in a memory hook.
inline Worker *WorkerOfThread() noexcept {
    return static_cast<Worker *>(MemoryHookCall::ThreadSlot());
}

// Returns the calling thread's worker if it belongs to this scheduler, else null. A child process
// has no workers. If a worker's thread forks, it is no worker in the child, its calls are refused,
// and this returns null. In a memory hook this also returns null.
inline Worker *WorkerOf(const TaskScheduler &taskScheduler) noexcept {
    Worker *worker = internal::CurrentWorker();
    return worker != nullptr && *worker->home == &taskScheduler ? worker : nullptr;
}

// Returns the calling thread's worker of this scheduler, or null. A thread can be a worker of
// several schedulers, nested in each other. WorkerOf only sees the innermost one; this function
// checks all of them. Slow.
inline const Worker *AnyWorkerOf(const TaskScheduler &taskScheduler) noexcept {
    const Worker *worker = internal::CurrentWorker();
    while (worker != nullptr && *worker->home != &taskScheduler)
        worker = static_cast<const Worker *>(worker->outerSlot);
    return worker;
}

// WorkerOf for queries: also works in such a child process and in a memory hook.
inline Worker *WorkerThatAsks(const TaskScheduler &taskScheduler) noexcept {
    Worker *worker = WorkerOfThread();
    return worker != nullptr && worker->taskScheduler == &taskScheduler ? worker : nullptr;
}

// Returns true if the thread was a worker of this scheduler when it forked, and this is the child
// process.
inline bool IsForkedWorker(const TaskScheduler &taskScheduler) noexcept {
    const Worker *worker = WorkerThatAsks(taskScheduler);
    return worker != nullptr && *worker->home == nullptr;
}

// Returns true, after a report, if the thread is in a memory hook or is such a forked worker.
inline bool IsRefusedHere(const TaskScheduler &taskScheduler, const char *call) noexcept {
    if (IsRefusedInMemoryHook(EntryGate::OptionsOf(taskScheduler), call)) return true;
    if (!IsForkedWorker(taskScheduler)) return false;
    ReportForked(EntryGate::OptionsOf(taskScheduler), call);
    return true;
}

// Reports a call that needs a worker, by a thread that is none. The thread need not enter the gate:
// it only compares the pointer with null.
WEFT_NOINLINE inline void ReportNoWorker(const TaskScheduler &taskScheduler,
                                         const char *call) noexcept {
    if (IsRefusedHere(taskScheduler, call)) return;
    if (EntryGate::StateOf(taskScheduler).scheduler.load(kSeqCst) == nullptr)
        return ReportNotRunning(taskScheduler, call);
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NotAWorker,
                  "Call it from a task that this scheduler runs, or attach the thread first.",
                  "%s was called by a thread that runs no task of this scheduler", call);
}

// Returns the calling thread's worker, or null after a report.
inline Worker *CallingWorker(const TaskScheduler &taskScheduler, const char *call) noexcept {
    Worker *worker = WorkerOf(taskScheduler);
    if (WEFT_UNLIKELY(worker == nullptr)) ReportNoWorker(taskScheduler, call);
    return worker;
}

// The slow path of MayWait: in a hook or in a scope of NoSuspend.
bool MayWaitNow(Worker *worker, const char *call) noexcept;

// The hooks of the host and onReport may not wait: a hook runs in the middle of a fiber switch or
// of a search for work, and would never continue. Also reports a wait in a scope of NoSuspend, and
// returns true.
inline bool MayWait(Worker *worker, const char *call) noexcept {
    return WEFT_LIKELY(!worker->inHook && worker->noSuspend == nullptr) || MayWaitNow(worker, call);
}

inline bool IsPriority(const SchedulerOptions &options, Priority priority,
                       const char *call) noexcept {
    if (WEFT_LIKELY(priority <= Priority::Low)) return true;
    ReportMistake(options, ReportCode::BadOption, "Give one of the values of Priority.",
                  "%s: TaskOptions::priority is out of range", call);
    return false;
}

inline bool IsWorker(const Scheduler &scheduler, const TaskOptions &taskOptions,
                     const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.worker == kAnyWorker) || taskOptions.worker < scheduler.slotCount)
        return true;
    constexpr const char *kHint =
        "Give kAnyWorker, or the index of a worker or of an attached thread.";
    const char *const name = taskOptions.name != nullptr ? taskOptions.name : "unnamed";
    const uint32_t workers = scheduler.workerCount;
    if (workers == 0) {
        ReportMistake(scheduler.options, ReportCode::BadOption, kHint,
                      "%s: TaskOptions::worker of task '%s' is %u; there are no workers, and the "
                      "attached thread is 0",
                      call, name, taskOptions.worker);
    } else {
        ReportMistake(scheduler.options, ReportCode::BadOption, kHint,
                      "%s: TaskOptions::worker of task '%s' is %u; workers are 0 to %u, attached "
                      "threads %u to %u",
                      call, name, taskOptions.worker, workers - 1, workers,
                      scheduler.slotCount - 1);
    }
    return false;
}

// `worker`: the caller's, or null.
inline bool MaySubmit(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(worker == nullptr || !worker->MustNotSubmit())) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Submit from another hook, or from a task.",
                  "%s was called by an onStart, onStop, fiberSwitch, park or unpark hook", call);
    return false;
}

// For tasks that the call counts itself, or that must not be skipped.
inline bool IsOfNoGroup(const Scheduler &scheduler, const TaskOptions &taskOptions,
                        const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.taskGroup == nullptr)) return true;
    ReportMistake(
        scheduler.options, ReportCode::BadOption,
        "Give no taskGroup here. For AddTasksAndWait: call AddTasks, and wait for the group.",
        "%s: TaskOptions::taskGroup is given, but these tasks cannot belong to a group", call);
    return false;
}

// Without groups there is group 0.
inline bool IsGroup(const SchedulerOptions &options, uint32_t group, const char *call) noexcept {
    const uint32_t count = std::max(options.groupCount, 1u);
    if (group < count) return true;
    ReportMistake(options, ReportCode::BadOption, "Give an index of SchedulerOptions::groups.",
                  "%s: the group is %u, and there are %u", call, group, count);
    return false;
}

inline bool MayNameGroup(const SchedulerOptions &options, const TaskOptions &taskOptions,
                         const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.group == kAnyGroup)) return true;
    if (IsInSlot(taskOptions.group) && SlotIn(taskOptions.group) <= options.groupCount) return true;
    if (!IsGroup(options, taskOptions.group, call)) return false;
    if (taskOptions.worker == kAnyWorker) return true;
    ReportMistake(options, ReportCode::BadOption, "Name either a worker or a group.",
                  "%s: TaskOptions::worker and ::group are both given", call);
    return false;
}

inline bool AreTasks(const Scheduler &scheduler, uint32_t count, const Task *tasks,
                     const TaskOptions &taskOptions, const char *call) noexcept {
    if (!IsPriority(scheduler.options, taskOptions.priority, call) ||
        !IsWorker(scheduler, taskOptions, call) ||
        !MayNameGroup(scheduler.options, taskOptions, call))
        return false;
    const bool isNull = tasks == nullptr && count != 0;
    const Task *const end = isNull ? tasks : tasks + count;
    const Task *const wrong =
        std::find_if(tasks, end, [](const Task &task) { return task.function == nullptr; });
    if (WEFT_LIKELY(wrong == end && !isNull)) return true;
    ReportMistake(scheduler.options, ReportCode::NullTask, "Give every task a function.",
                  isNull ? "%s: null tasks" : "%s: task %u has a null function", call,
                  static_cast<uint32_t>(wrong - tasks));
    return false;
}

inline bool IsCounter(const TaskScheduler &taskScheduler, const Counter *counter,
                      const char *call) noexcept {
    if (WEFT_LIKELY(counter != nullptr)) return true;
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NullCounter,
                  "Give it a counter.", "%s: null counter", call);
    return false;
}

inline bool AreCounters(const TaskScheduler &taskScheduler, uint32_t count,
                        Counter *const *counters, const char *call) noexcept {
    if (count != 0 && counters == nullptr) return IsCounter(taskScheduler, nullptr, call);
    for (uint32_t i = 0; i < count; ++i) {
        if (!IsCounter(taskScheduler, counters[i], call)) return false;
    }
    return true;
}

// `count` tasks are to follow the counters. They must not wait for themselves because `counter` is
// one of them.
inline bool AreTargets(const TaskScheduler &taskScheduler, uint32_t afterCount,
                       const CounterTarget *after, uint32_t count, const Counter *counter,
                       const char *call) noexcept {
    if (afterCount != 0 && after == nullptr) return IsCounter(taskScheduler, nullptr, call);
    for (uint32_t i = 0; i < afterCount; ++i) {
        if (!IsCounter(taskScheduler, after[i].counter, call)) return false;
        if (after[i].counter != counter || after[i].value >= count) continue;
        ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::BadOption,
                      "Give a value of at least the number of tasks, or let another counter count "
                      "the tasks.",
                      "%s: the tasks (%u) would wait for themselves, because the counter that they "
                      "follow counts them as well",
                      call, count);
        return false;
    }
    return true;
}

/// The thread that calls a public function: a worker, or an external thread inside the gate. While
/// this object exists, the scheduler runs. After a wait the task may run on another worker than
/// TheWorker().
class Caller {
public:
    WEFT_FORCEINLINE Caller(TaskScheduler &taskScheduler, const char *call) noexcept
        : m_call(call),
          m_worker(WorkerOf(taskScheduler)),
          m_scheduler(WEFT_LIKELY(m_worker != nullptr) ? m_worker->scheduler
                                                       : Enter(taskScheduler)) {}
    ~Caller() {
        if (WEFT_UNLIKELY(m_worker == nullptr)) m_external.~ExternalCall();
    }
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;

    /// Returns null for a thread that is no worker of this scheduler.
    Worker *TheWorker() const noexcept { return m_worker; }
    /// Returns null, after a report, if the scheduler does not run here. Then only MaySubmit and
    /// MayWait may be called.
    Scheduler *Running() const noexcept { return m_scheduler; }

    bool MaySubmit() const noexcept {
        return WEFT_LIKELY(m_worker != nullptr) ? internal::MaySubmit(m_worker, m_call)
                                                : m_external.MayEnter(m_call);
    }
    /// Submits tasks. Returns false after a report.
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options,
                Counter *counter = nullptr) const noexcept {
        return MaySubmit() && AreTasks(*m_scheduler, count, tasks, options, m_call) &&
               internal::Submit(*m_scheduler, m_worker, count, tasks, counter, options);
    }
    /// Checks tasks that must not be skipped, or only their options.
    bool Accepts(const TaskOptions &options, uint32_t count = 0,
                 const Task *tasks = nullptr) const noexcept {
        return AreTasks(*m_scheduler, count, tasks, options, m_call) &&
               IsOfNoGroup(*m_scheduler, options, m_call);
    }
    bool MayWait() const noexcept {
        return WEFT_LIKELY(m_worker != nullptr) ? internal::MayWait(m_worker, m_call)
                                                : m_external.MayEnter(m_call);
    }
    WaitingCaller AsWaiting() noexcept {
        if (m_worker != nullptr) return {*m_scheduler, m_worker->current, nullptr};
        return {*m_scheduler, nullptr, &m_external.visit};
    }

    /// Lowers the counter by `n`. Returns false after a report.
    bool Lower(Counter &counter, uint32_t n = 1) const noexcept {
        if (m_worker != nullptr) Flush(*m_worker);
        return internal::Lower(*m_scheduler, m_worker, counter, n);
    }

private:
    WEFT_NOINLINE Scheduler *Enter(TaskScheduler &taskScheduler) noexcept {
        return (new (&m_external) ExternalCall(taskScheduler, m_call))->running;
    }

    const char *const m_call;
    Worker *const m_worker;
    Scheduler *const m_scheduler;
    union {
        ExternalCall m_external;  // if there is no worker
    };
};

/// Waits for the counter. Returns false at the deadline, or after a report.
inline bool WaitByCaller(TaskScheduler &scheduler, const char *call, Counter *counter,
                         uint32_t value, uint64_t deadline,
                         Meanwhile meanwhile = Meanwhile::AnyTask,
                         ResumeOn resume = ResumeOn::AnyWorker) noexcept {
    if (!IsCounter(scheduler, counter, call)) return false;
    const WaitFor what{*counter, value, deadline, WaitKind::Counter, resume, meanwhile};
    Worker *const worker = WorkerOf(scheduler);
    if (WEFT_LIKELY(worker != nullptr)) return MayWait(worker, call) && Wait(*worker, what);
    Caller caller(scheduler, call);
    return caller.MayWait() && caller.AsWaiting().Wait(what);
}

/// Waits for one of several counters. See WaitAny.
inline uint32_t WaitAnyByCaller(TaskScheduler &scheduler, const char *call, uint32_t count,
                                Counter *const *counters, uint64_t deadline) noexcept {
    if (!AreCounters(scheduler, count, counters, call)) return count;
    if (count == 0 || count > kMaxOfAny) {
        ReportMistake(EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
                      "Give 1 to 4,096 counters.", "%s: %u counters", call, count);
        return count;
    }
    Caller caller(scheduler, call);
    return caller.MayWait() ? WaitAny(caller.AsWaiting(), count, counters, deadline) : count;
}

/// Calls ask(scheduler) for a query about the running scheduler, or ask(nullptr) if it does not run
/// or the caller cannot know. Returns the result.
template <class Ask>
auto Query(const TaskScheduler &taskScheduler, Ask ask) noexcept {
    const Worker *worker = WorkerThatAsks(taskScheduler);
    if (worker != nullptr) return ask(static_cast<const Scheduler *>(worker->scheduler));
    // in a memory hook the thread may be inside the gate already
    if (MemoryHookCall::Current() != nullptr) return ask(static_cast<const Scheduler *>(nullptr));
    EntryGate::Visit visit(const_cast<TaskScheduler &>(taskScheduler));
    const auto result = ask(static_cast<const Scheduler *>(visit.ComeIn()));
    visit.GoOut();
    return result;
}

}  // namespace weft::internal
