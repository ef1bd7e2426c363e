// Who calls, and what the call may be: what users can get wrong, in one place. After a report the
// call has no effect.
#pragma once

#include "platform/compiler.h"
#include "platform/memory_hook.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/external_call.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

#include <algorithm>

namespace weft::internal {

// Also in a memory function.
inline Worker *WorkerOfThread() noexcept {
    return static_cast<Worker *>(MemoryHookCall::ThreadSlot());
}

// The calling thread's worker if it is one of this scheduler's, or null. Null in the child of a
// thread that forked while it was one: there it is a thread like any other, whose calls are
// refused. Null, too, in one of the host's memory functions.
inline Worker *WorkerOf(const TaskScheduler &taskScheduler) noexcept {
    Worker *worker = internal::CurrentWorker();
    return worker != nullptr && *worker->home == &taskScheduler ? worker : nullptr;
}

// The same if the thread is a worker of several, one inside of the other: with any of them, not
// only the innermost. Slow.
inline bool IsWorkerOf(const TaskScheduler &taskScheduler) noexcept {
    const Worker *worker = internal::CurrentWorker();
    while (worker != nullptr && *worker->home != &taskScheduler)
        worker = static_cast<const Worker *>(worker->outerSlot);
    return worker != nullptr;
}

// For what only asks: also in such a child, and in a memory function.
inline Worker *WorkerThatAsks(const TaskScheduler &taskScheduler) noexcept {
    Worker *worker = WorkerOfThread();
    return worker != nullptr && worker->taskScheduler == &taskScheduler ? worker : nullptr;
}

// The thread was a worker when it forked, and this is the child.
inline bool IsForkedWorker(const TaskScheduler &taskScheduler) noexcept {
    const Worker *worker = WorkerThatAsks(taskScheduler);
    return worker != nullptr && *worker->home == nullptr;
}

// The same, or it is in a memory function; with a report.
inline bool IsRefusedHere(const TaskScheduler &taskScheduler, const char *call) noexcept {
    if (IsRefusedInMemoryHook(EntryGate::OptionsOf(taskScheduler), call)) return true;
    if (!IsForkedWorker(taskScheduler)) return false;
    ReportForked(EntryGate::OptionsOf(taskScheduler), call);
    return true;
}

// The calling thread's worker; null only after a report.
inline Worker *CallingWorker(const TaskScheduler &taskScheduler, const char *call) noexcept {
    Worker *worker = WorkerOf(taskScheduler);
    if (WEFT_UNLIKELY(worker == nullptr) && !IsRefusedHere(taskScheduler, call)) {
        ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NotAWorker,
                      "Call it from a task that this scheduler runs, or attach the thread first.",
                      "%s was called by a thread that runs no task of this scheduler", call);
    }
    return worker;
}

// The host's hooks run in the middle of a switch or of a search: whoever waited there would never
// come back.
inline bool MayWait(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(!worker->inHook)) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Call it from a task; a hook may submit, but not wait.",
                  "%s was called by a hook", call);
    return false;
}

inline bool AreOptions(const SchedulerOptions &options, const TaskOptions &taskOptions,
                       const char *call) noexcept {
    if (taskOptions.priority <= Priority::Low && taskOptions.stack <= StackClass::Large)
        return true;
    ReportMistake(options, ReportCode::BadOption,
                  "Give one of the values of Priority and of StackClass.",
                  "%s: TaskOptions::%s is out of range", call,
                  taskOptions.priority > Priority::Low ? "priority" : "stack");
    return false;
}

inline bool IsWorker(const Scheduler &scheduler, const TaskOptions &taskOptions,
                     const char *call) noexcept {
    if (WEFT_LIKELY(taskOptions.worker == kAnyWorker) || taskOptions.worker < scheduler.slotCount)
        return true;
    ReportMistake(scheduler.options, ReportCode::BadOption,
                  "Give kAnyWorker, a worker, or a thread that is attached.",
                  "%s: TaskOptions::worker is %u, and there are %u workers", call,
                  taskOptions.worker, scheduler.workerCount);
    return false;
}

/// Whether these are groups of the options, as bits.
inline bool AreGroups(const SchedulerOptions &options, uint8_t groups, const char *call) noexcept {
    const uint32_t all = (1u << std::max(options.groupCount, 1u)) - 1;
    if ((groups & ~all) == 0) return true;
    ReportMistake(options, ReportCode::BadOption,
                  "Name groups of SchedulerOptions::groups: bit i for groups[i].",
                  "%s: the groups are %#x, and there are %u", call, groups,
                  std::max(options.groupCount, 1u));
    return false;
}

inline bool ReportWorkerAndGroups(const SchedulerOptions &options, const char *call) noexcept {
    ReportMistake(options, ReportCode::BadOption, "Name either a worker or groups.",
                  "%s: TaskOptions::worker and ::groups are both given", call);
    return false;
}

// There are any.
WEFT_NOINLINE inline bool MayNameGroups(Scheduler &scheduler, const TaskOptions &taskOptions,
                                        const char *call) noexcept {
    if (!AreGroups(scheduler.options, taskOptions.groups, call)) return false;
    if (taskOptions.worker != kAnyWorker) return ReportWorkerAndGroups(scheduler.options, call);
    if (SetOf(scheduler, taskOptions.groups) != kSets) return true;
    ReportMistake(scheduler.options, ReportCode::BadOption, "Name fewer different sets of groups.",
                  "%s: tasks name more than %u different sets of groups", call, kSets - 1);
    return false;
}

// Run's main task begins on worker 0.
inline bool IsMainGroup(const SchedulerOptions &options, const TaskOptions &taskOptions) noexcept {
    if (taskOptions.groups == 0) return true;
    if (!AreGroups(options, taskOptions.groups, "Run")) return false;
    if (taskOptions.worker != kAnyWorker) return ReportWorkerAndGroups(options, "Run");
    if ((taskOptions.groups & 1) != 0) return true;
    ReportMistake(options, ReportCode::BadOption, "Name the first group among others, or none.",
                  "Run: the main task begins on worker 0, which is not in its groups");
    return false;
}

inline bool MaySubmit(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(worker == nullptr || !worker->mustNotSubmit)) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Submit from another hook, or from a task.",
                  "%s was called by a thread, fiberSwitch, park or unpark hook", call);
    return false;
}

// Not in a hook, nor in onReport: the task may be in a wait there, or may have handed its counter
// on already.
inline bool MayAddChildren(const Worker *worker, const char *call) noexcept {
    if (WEFT_LIKELY(!worker->inHook)) return true;
    ReportMistake(worker->scheduler->options, ReportCode::InHook,
                  "Call it from a task; a hook may call AddTasks.",
                  "%s was called by a hook or by onReport", call);
    return false;
}

// Returns a number of tasks that all have a function; the first one without may be among the next
// four. Checks four tasks in each turn, which takes less time than one in each turn.
WEFT_NOINLINE inline uint32_t WithFunction(uint32_t count, const Task *tasks) noexcept {
    const auto has = [tasks](uint32_t i) { return tasks[i].function != nullptr; };
    uint32_t i = 0;
    while (count - i >= 4 && has(i) && has(i + 1) && has(i + 2) && has(i + 3)) i += 4;
    return i;
}

inline bool AreTasks(Scheduler &scheduler, uint32_t count, const Task *tasks,
                     const TaskOptions &taskOptions, const char *call) noexcept {
    if (!AreOptions(scheduler.options, taskOptions, call) ||
        !IsWorker(scheduler, taskOptions, call))
        return false;
    if (WEFT_UNLIKELY(taskOptions.groups != 0) && !MayNameGroups(scheduler, taskOptions, call))
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

inline bool IsCounter(const TaskScheduler &taskScheduler, const Counter *counter,
                      const char *call) noexcept {
    if (WEFT_UNLIKELY(counter == nullptr)) {
        ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NullCounter,
                      "Give it a counter.", "%s: null counter", call);
        return false;
    }
    return true;
}

inline bool AreCounters(const TaskScheduler &taskScheduler, uint32_t count,
                        Counter *const *counters, const char *call) noexcept {
    if (count != 0 && counters == nullptr) return IsCounter(taskScheduler, nullptr, call);
    for (uint32_t i = 0; i < count; ++i) {
        if (!IsCounter(taskScheduler, counters[i], call)) return false;
    }
    return true;
}

inline bool MayWaitForAny(const TaskScheduler &taskScheduler, uint32_t count,
                          Counter *const *counters, const char *call) noexcept {
    if (!AreCounters(taskScheduler, count, counters, call)) return false;
    if (count != 0 && count <= kMaxOfAny) return true;
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::BadOption,
                  "Give 1 to 4,096 counters.", "%s: %u counters", call, count);
    return false;
}

}  // namespace weft::internal
