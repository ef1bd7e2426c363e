// Finds out which worker calls a public function, and checks the arguments. Each check reports a
// mistake of the user; the public call then has no effect.
#pragma once

#include "platform/compiler.h"
#include "platform/memory_hook.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/external_call.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/wait/wait_any.h"
#include "weft/deferred.h"

#include <algorithm>

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
inline bool IsWorkerOf(const TaskScheduler &taskScheduler) noexcept {
    return AnyWorkerOf(taskScheduler) != nullptr;
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

// Returns false, after a report, in a hook of the host and in onReport. The host's hooks run in the
// middle of a fiber switch or of a search for work. A hook that waited there would never continue.
// Also reports a wait in a scope of NoSuspend, and returns true.
inline bool MayWait(Worker *worker, const char *call) noexcept {
    return WEFT_LIKELY(!worker->inHook && worker->noSuspend == nullptr) || MayWaitNow(worker, call);
}

// Returns false, after a report, if the priority is out of range.
inline bool AreOptions(const SchedulerOptions &options, const TaskOptions &taskOptions,
                       const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.priority <= Priority::Low)) return true;
    ReportMistake(options, ReportCode::BadOption, "Give one of the values of Priority.",
                  "%s: TaskOptions::priority is out of range", call);
    return false;
}

// Reports that TaskOptions::worker is out of range.
WEFT_NOINLINE inline void ReportWorker(const Scheduler &scheduler, const TaskOptions &taskOptions,
                                       const char *call) noexcept {
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
}

// Returns false, after a report, if TaskOptions::worker is neither kAnyWorker nor the index of a
// worker or of a slot for an attached thread.
inline bool IsWorker(const Scheduler &scheduler, const TaskOptions &taskOptions,
                     const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.worker == kAnyWorker) || taskOptions.worker < scheduler.slotCount)
        return true;
    ReportWorker(scheduler, taskOptions, call);
    return false;
}

// Returns false, after a report, in a hook that must not submit. `worker`: the caller's, or null.
inline bool MaySubmit(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(worker == nullptr || !worker->MustNotSubmit())) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Submit from another hook, or from a task.",
                  "%s was called by an onStart, onStop, fiberSwitch, park or unpark hook", call);
    return false;
}

// Returns false, after a report, in a hook and in onReport. The current task may be in a wait
// there; then Fiber::CounterOfTask is the counter that it waits for.
inline bool MayAddChildren(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(!worker->inHook)) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Call it from a task; a hook may call AddTasks.",
                  "%s was called by a hook or by onReport", call);
    return false;
}

// Returns a number n such that the tasks before tasks[n] all have a function. If some task has
// none, the first such task is one of the next four. Checks four tasks in each step, which takes
// less time than one task in each step.
WEFT_NOINLINE inline uint32_t WithFunction(uint32_t count, const Task *tasks) noexcept {
    const auto has = [tasks](uint32_t i) { return tasks[i].function != nullptr; };
    uint32_t i = 0;
    while (count - i >= 4 && has(i) && has(i + 1) && has(i + 2) && has(i + 3)) i += 4;
    return i;
}

// Reports that tasks are to belong to a group where they cannot. Returns false.
WEFT_NOINLINE inline bool ReportGroup(const Scheduler &scheduler, const char *call) noexcept {
    ReportMistake(
        scheduler.options, ReportCode::BadOption,
        "Give no taskGroup here. For AddTasksAndWait: call AddTasks, and wait for the group.",
        "%s: TaskOptions::taskGroup is given, but these tasks cannot belong to a group", call);
    return false;
}

// Returns false, after a report, if the tasks are to belong to a group: the call counts them
// itself, or they must not be skipped.
inline bool IsOfNoGroup(const Scheduler &scheduler, const TaskOptions &taskOptions,
                        const char *call) noexcept {
    return WEFT_LIKELY(taskOptions.taskGroup == nullptr) || ReportGroup(scheduler, call);
}

/// Returns false, after a report, if there is no such group. Without groups there is group 0.
inline bool IsGroup(const SchedulerOptions &options, uint32_t group, const char *call) noexcept {
    const uint32_t count = std::max(options.groupCount, 1u);
    if (group < count) return true;
    ReportMistake(options, ReportCode::BadOption, "Give an index of SchedulerOptions::groups.",
                  "%s: the group is %u, and there are %u", call, group, count);
    return false;
}

// Checks TaskOptions::group if it is given. Returns false after a report.
WEFT_NOINLINE inline bool MayNameGroup(const SchedulerOptions &options,
                                       const TaskOptions &taskOptions, const char *call) noexcept {
    if (IsInSlot(taskOptions.group) && SlotIn(taskOptions.group) <= options.groupCount) return true;
    if (!IsGroup(options, taskOptions.group, call)) return false;
    if (taskOptions.worker == kAnyWorker) return true;
    ReportMistake(options, ReportCode::BadOption, "Name either a worker or a group.",
                  "%s: TaskOptions::worker and ::group are both given", call);
    return false;
}

// Checks the group of Run's main task, which begins on worker 0. Returns false after a report.
inline bool IsMainGroup(const SchedulerOptions &options, const TaskOptions &taskOptions) noexcept {
    if (taskOptions.taskGroup != nullptr) {
        ReportMistake(options, ReportCode::BadOption, "Give no taskGroup for the main task.",
                      "Run: the main task cannot belong to a TaskGroup");
        return false;
    }
    if (taskOptions.group == kAnyGroup) return true;
    if (!MayNameGroup(options, taskOptions, "Run")) return false;
    if (taskOptions.group == 0) return true;
    ReportMistake(options, ReportCode::BadOption, "Name the first group, or none.",
                  "Run: the main task begins on worker 0, which is not in its group");
    return false;
}

// Returns false, after a report, if an option is wrong or a task has no function.
inline bool AreTasks(Scheduler &scheduler, uint32_t count, const Task *tasks,
                     const TaskOptions &taskOptions, const char *call) noexcept {
    if (!AreOptions(scheduler.options, taskOptions, call) ||
        !IsWorker(scheduler, taskOptions, call))
        return false;
    if (WEFT_UNLIKELY(taskOptions.group != kAnyGroup) &&
        !MayNameGroup(scheduler.options, taskOptions, call))
        return false;
    for (uint32_t i = count >= 16 && tasks != nullptr ? WithFunction(count, tasks) : 0; i < count;
         ++i) {
        if (WEFT_UNLIKELY(tasks == nullptr || tasks[i].function == nullptr)) {
            ReportMistake(scheduler.options, ReportCode::NullTask, "Give every task a function.",
                          tasks == nullptr ? "%s: null tasks" : "%s: task %u has a null function",
                          call, i);
            return false;
        }
    }
    return true;
}

// Returns false, after a report, if `counter` is null.
inline bool IsCounter(const TaskScheduler &taskScheduler, const Counter *counter,
                      const char *call) noexcept {
    if (WEFT_UNLIKELY(counter == nullptr)) {
        ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NullCounter,
                      "Give it a counter.", "%s: null counter", call);
        return false;
    }
    return true;
}

// Returns false, after a report, if `counters` or one of the counters is null.
inline bool AreCounters(const TaskScheduler &taskScheduler, uint32_t count,
                        Counter *const *counters, const char *call) noexcept {
    if (count != 0 && counters == nullptr) return IsCounter(taskScheduler, nullptr, call);
    for (uint32_t i = 0; i < count; ++i) {
        if (!IsCounter(taskScheduler, counters[i], call)) return false;
    }
    return true;
}

// Returns false, after a report, if a counter that `count` tasks are to follow is null, or if the
// tasks would wait for themselves because `counter` is one of them.
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

// Returns false, after a report, if a counter is null or the number of counters is out of range.
inline bool MayWaitForAny(const TaskScheduler &taskScheduler, uint32_t count,
                          Counter *const *counters, const char *call) noexcept {
    if (!AreCounters(taskScheduler, count, counters, call)) return false;
    if (count != 0 && count <= kMaxOfAny) return true;
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::BadOption,
                  "Give 1 to 4,096 counters.", "%s: %u counters", call, count);
    return false;
}

}  // namespace weft::internal
