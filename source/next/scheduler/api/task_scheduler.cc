// The public calls. Each one checks its arguments and then calls a function of submit/ or wait/.
#include "weft/task_scheduler.h"

#include "scheduler/api/by_caller.h"
#include "scheduler/api/internal_api.h"
#include "scheduler/state/check_options.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/ready.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/pump.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_idle.h"

namespace weft {

using namespace internal;

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = WorkerOf(*this);
    const bool plain = task.function != nullptr && options.worker == kAnyWorker &&
                       options.groups == 0 && options.taskGroup == nullptr &&
                       options.priority <= Priority::Low && options.stack <= StackClass::Large;
    if (WEFT_LIKELY(worker != nullptr && plain && worker->submitBits == 0)) {
        SubmitOne(*worker, task, counter, options);
    } else {
        AddTasks(1, &task, counter, options);
    }
}

void TaskScheduler::AddTasks(uint32_t count, const Task *tasks, Counter *counter,
                             const TaskOptions &options) noexcept {
    if (count == 0) return;
    ByCaller(
        *this, "AddTasks",
        [&](Worker *worker) {
            if (MaySubmit(worker, "AddTasks") &&
                AreTasks(*worker->scheduler, count, tasks, options, "AddTasks"))
                Submit(*worker->scheduler, worker, count, tasks, counter, options);
        },
        [&](ExternalCall &call) {
            if (call.MayEnter("AddTasks") &&
                AreTasks(*call.running, count, tasks, options, "AddTasks"))
                Submit(*call.running, nullptr, count, tasks, counter, options);
        });
}

void TaskScheduler::AddChildTasks(uint32_t count, const Task *tasks,
                                  const TaskOptions &options) noexcept {
    if (count == 0) return;
    Worker *worker = CallingWorker(*this, "AddChildTasks");
    if (worker == nullptr) return;
    // a pinned task may run on top of a thread's own stack
    if (worker->current->IsThreadStack() && worker->current->inlined == nullptr) {
        ReportMistake(worker->scheduler->options, ReportCode::NotAWorker,
                      "Call it from a task, or call AddTasks.",
                      "AddChildTasks was called outside of tasks");
    } else if (MayAddChildren(worker, "AddChildTasks") &&
               AreTasks(*worker->scheduler, count, tasks, options, "AddChildTasks")) {
        Counter *const counter = worker->current->CounterOfTask();
        TaskOptions ofCaller = options;
        if (ofCaller.taskGroup == nullptr) ofCaller.taskGroup = GroupOf(counter);
        Submit(*worker->scheduler, worker, count, tasks, counter, ofCaller);
    }
}

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks,
                                    const TaskOptions &options) noexcept {
    if (count == 0) return;
    WaitByCaller(
        *this, "AddTasksAndWait", false,
        [&](Worker *worker) {
            const bool valid =
                AreTasks(*worker->scheduler, count, tasks, options, "AddTasksAndWait") &&
                IsOfNoGroup(*worker->scheduler, options, "AddTasksAndWait");
            if (valid) SubmitAndWait(*worker, count, tasks, options);
            return valid;
        },
        [&](ExternalCall &call) {
            Counter counter;
            return AreTasks(*call.running, count, tasks, options, "AddTasksAndWait") &&
                   Submit(*call.running, nullptr, count, tasks, &counter, options) &&
                   WaitExternal(call.visit, *call.running, counter, 0);
        });
}

namespace {

bool WaitForIt(TaskScheduler &scheduler, Counter *counter, const char *call, uint32_t value,
               uint64_t deadline, ResumeOn resume, Meanwhile meanwhile) noexcept {
    if (!IsCounter(scheduler, counter, call)) return false;
    return WaitByCaller(
        scheduler, call, false,
        [&](Worker *worker) {
            return Wait(*worker, {*counter, value, deadline, resume, meanwhile});
        },
        [&](ExternalCall &external) {
            return WaitExternal(external.visit, *external.running, *counter, value, deadline);
        });
}

}  // namespace

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, ResumeOn resume) noexcept {
    WaitForIt(*this, counter, "WaitForCounter", value, Timers::kNever, resume, Meanwhile::AnyTask);
}

void TaskScheduler::WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value) noexcept {
    WaitForIt(*this, counter, "WaitForCounter", value, Timers::kNever, ResumeOn::AnyWorker,
              meanwhile);
}

void TaskScheduler::WaitForAll(uint32_t count, Counter *const *counters) noexcept {
    if (!AreCounters(*this, count, counters, "WaitForAll")) return;
    for (uint32_t i = 0; i < count; ++i) WaitForCounter(counters[i]);
}

uint32_t TaskScheduler::WaitForAny(uint32_t count, Counter *const *counters) noexcept {
    if (!MayWaitForAny(*this, count, counters, "WaitForAny")) return count;
    return WaitByCaller(
        *this, "WaitForAny", count,
        [&](Worker *worker) { return WaitAny(*worker, count, counters); },
        [&](ExternalCall &call) {
            return WaitAnyExternal(call.visit, *call.running, count, counters);
        });
}

bool internal::PassPoint(TaskScheduler &scheduler) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    return worker != nullptr && !worker->inHook && worker->noSuspend == nullptr &&
           PassPoint(*worker->current);
}

bool TaskScheduler::PollCounter(Counter *counter, uint32_t value) noexcept {
    if (!IsCounter(*this, counter, "PollCounter")) return true;
    Worker *const worker = WorkerOf(*this);
    if (worker == nullptr) return IsReached(*counter, value);
    Flush(*worker);
    if (worker->handOver.isQuiet) EndQuiet(*worker);
    if (IsReached(*counter, value)) return true;
    // a loop of such calls must end, also with one worker
    PassPoint(*this);
    return IsReached(*counter, value);
}

bool TaskScheduler::IncrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "IncrementCounter")) return false;
    if (n == 0) return true;
    return ByCaller(
        *this, "IncrementCounter",
        [&](Worker *worker) {
            Flush(*worker);
            Emit(*worker->scheduler, worker, TraceKind::Increment, counter, n);
            return RaiseNow(*worker->scheduler, *counter, n);
        },
        [&](ExternalCall &call) {
            if (call.running == nullptr) return false;
            Emit(*call.running, nullptr, TraceKind::Increment, counter, n);
            return RaiseNow(*call.running, *counter, n);
        });
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "DecrementCounter") || n == 0) return;
    ByCaller(
        *this, "DecrementCounter",
        [&](Worker *worker) {
            Flush(*worker);
            Emit(*worker->scheduler, worker, TraceKind::Decrement, counter, n);
            return Lower(*worker->scheduler, worker, *counter, n);
        },
        [&](ExternalCall &call) {
            if (call.running == nullptr) return false;
            Emit(*call.running, nullptr, TraceKind::Decrement, counter, n);
            return Lower(*call.running, nullptr, *counter, n);
        });
}

namespace {

// A worker that takes its signal sees the new numbers.
void SetActive(Scheduler &scheduler, uint32_t count) noexcept {
    if (count < 1 || count > scheduler.workerCount) {
        ReportMistake(scheduler.options, ReportCode::BadOption, "Give 1 to WorkerCount().",
                      "SetActiveWorkers: %u of %u workers", count, scheduler.workerCount);
        return;
    }
    scheduler.activeWorkers.store(count, kSeqCst);
    SignalAll(scheduler, WorkerOf(*scheduler.taskScheduler));
}

void SetLowGroupsTo(Scheduler &scheduler, uint8_t groups) noexcept {
    scheduler.lowGroups.store(groups, kSeqCst);
    SignalAll(scheduler, WorkerOf(*scheduler.taskScheduler));
}

}  // namespace

void TaskScheduler::SetActiveWorkers(uint32_t count) noexcept {
    const Caller caller(*this, "SetActiveWorkers");
    if (caller.Running() != nullptr) SetActive(*caller.Running(), count);
}

void TaskScheduler::SetLowGroups(uint8_t groups) noexcept {
    const Caller caller(*this, "SetLowGroups");
    if (caller.Running() != nullptr &&
        (groups == 0 || AreGroups(caller.Running()->options, groups, "SetLowGroups")))
        SetLowGroupsTo(*caller.Running(), groups);
}

void TaskScheduler::PrepareToBlock() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) internal::PrepareToBlock(*worker);
}

void TaskScheduler::SetPriority(Priority priority) noexcept {
    Worker *worker = CallingWorker(*this, "SetPriority");
    TaskOptions options;
    options.priority = priority;
    if (worker == nullptr || !AreOptions(worker->scheduler->options, options, "SetPriority"))
        return;
    worker->current->own = priority;
    worker->current->level = worker->current->level.With(priority);
}

void TaskScheduler::WaitIdle() noexcept {
    WaitByCaller(
        *this, "WaitIdle", false,
        [](Worker *worker) {
            WaitIdleHere(*worker);
            return true;
        },
        [](ExternalCall &call) {
            WaitIdleExternal(call.visit, *call.running);
            return true;
        });
}

uint32_t TaskScheduler::RunPinnedTasks(uint32_t max) noexcept {
    Worker *worker = CallingWorker(*this, "RunPinnedTasks");
    return worker != nullptr && MayWait(worker, "RunPinnedTasks") ? RunPinned(*worker, max) : 0;
}

void TaskScheduler::Yield() noexcept {
    Worker *worker = CallingWorker(*this, "Yield");
    if (worker != nullptr && MayWait(worker, "Yield")) YieldFiber(*worker);
}

TaskScheduler *TaskScheduler::Current() noexcept {
    const Worker *worker = WorkerOfThread();
    return worker != nullptr ? worker->taskScheduler : nullptr;
}

uint32_t TaskScheduler::CurrentWorker() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    return worker != nullptr ? worker->index : kAnyWorker;
}

uint32_t TaskScheduler::CurrentFiber() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    return worker != nullptr ? worker->current->index : kAnyWorker;
}

uint64_t TaskScheduler::CurrentTask() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    return worker != nullptr ? TaskOn(*worker->scheduler, *worker->current) : 0;
}

uint32_t TaskScheduler::WorkerCount() const noexcept {
    return Query(*this, [&](const Scheduler *running) {
        return running != nullptr ? running->workerCount
                                  : EffectiveWorkers(EntryGate::OptionsOf(*this));
    });
}

uint32_t TaskScheduler::MaxConcurrency() const noexcept {
    const uint32_t workers = WorkerCount();
    return workers != 0 ? workers + EntryGate::OptionsOf(*this).maxAttached : 1;
}

}  // namespace weft
