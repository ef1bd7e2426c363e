// The public calls while the scheduler runs. Each one checks its arguments and then calls a
// function of scheduler/submit/ or scheduler/wait/. The calls that begin and end a run are in
// life_calls.cpp.
#include "weft/task_scheduler.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/api/by_caller.h"
#include "scheduler/api/internal_api.h"
#include "scheduler/find/claim.h"
#include "scheduler/state/check_options.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/pump.h"
#include "scheduler/wait/run_inline.h"
#include "scheduler/wait/submit_and_wait.h"
#include "scheduler/wait/urgent.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_any.h"
#include "scheduler/wait/wait_idle.h"

namespace weft {

using namespace internal;

namespace {

// seq_cst: an inactive worker first announces that it sleeps, and then reads the number. So either
// it reads the new number, or it is woken here.
void SetActive(Scheduler &scheduler, uint32_t count) noexcept {
    if (count < 1 || count > scheduler.workerCount) {
        ReportMistake(scheduler.options, ReportCode::BadOption, "Give 1 to WorkerCount().",
                      "SetActiveWorkers: %u of %u workers", count, scheduler.workerCount);
        return;
    }
    scheduler.activeWorkers.store(count, kSeqCst);  // [order]
    WakeEverySleeper(scheduler, WorkerOf(*scheduler.taskScheduler));
}

// A thread that publishes a Low task reads its groups afterwards and wakes one of their workers. So
// the groups are stored before the sleepers wake.
void SetLowGroupsTo(Scheduler &scheduler, uint8_t groups) noexcept {
    SetLow(scheduler, groups);                   // [order]
    ShowLevel(scheduler, Level(Priority::Low));  // workers that did not run it may have hidden it
    WakeEverySleeper(scheduler, WorkerOf(*scheduler.taskScheduler));
}

}  // namespace

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = WorkerOf(*this);
    const bool plain = task.function != nullptr && (worker == nullptr || !worker->mustNotSubmit) &&
                       options.worker == kAnyWorker && options.groups == 0 &&
                       options.taskGroup == nullptr && options.priority <= Priority::Low &&
                       options.stack <= StackClass::Large;
    if (WEFT_LIKELY(worker != nullptr && plain)) {
        SubmitOne(worker, task, counter, options);
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
                Submit(worker, count, tasks, counter, options);
        },
        [&](ExternalCall &call) {
            if (call.MayEnter("AddTasks") &&
                AreTasks(*call.running, count, tasks, options, "AddTasks"))
                Post(*call.running, nullptr, count, tasks, counter, options);
        });
}

void TaskScheduler::AddChildTasks(uint32_t count, const Task *tasks,
                                  const TaskOptions &options) noexcept {
    if (count == 0) return;
    Worker *worker = CallingWorker(*this, "AddChildTasks");
    if (worker == nullptr) return;
    if (worker->current->IsHost()) {
        ReportMistake(worker->scheduler->options, ReportCode::NotAWorker,
                      "Call it from a task, or call AddTasks.",
                      "AddChildTasks was called outside of tasks");
    } else if (MayAddChildren(worker, "AddChildTasks") &&
               AreTasks(*worker->scheduler, count, tasks, options, "AddChildTasks")) {
        Counter *const counter = worker->current->CounterOfTask();
        TaskOptions ofCaller = options;
        if (ofCaller.taskGroup == nullptr) ofCaller.taskGroup = GroupOf(counter);
        Submit(worker, count, tasks, counter, ofCaller);
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
            if (valid) SubmitAndWait(worker, count, tasks, options);
            return valid;
        },
        [&](ExternalCall &call) {
            Counter counter;
            return AreTasks(*call.running, count, tasks, options, "AddTasksAndWait") &&
                   Post(*call.running, nullptr, count, tasks, &counter, options) &&
                   WaitExternal(call.visit, *call.running, counter, 0);
        });
}

namespace {

// Calls wait(worker) if the caller is a worker. An external thread blocks.
template <class Wait>
WEFT_FORCEINLINE void WaitHere(TaskScheduler &scheduler, Counter *counter, uint32_t value,
                               Wait wait) noexcept {
    if (!IsCounter(scheduler, counter, "WaitForCounter")) return;
    WaitByCaller(
        scheduler, "WaitForCounter", false,
        [&](Worker *worker) {
            wait(worker);
            return true;
        },
        [&](ExternalCall &call) {
            return WaitExternal(call.visit, *call.running, *counter, value);
        });
}

}  // namespace

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, ResumeOn resume) noexcept {
    WaitHere(*this, counter, value, [=](Worker *worker) { Wait(worker, *counter, value, resume); });
}

void TaskScheduler::WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value) noexcept {
    WaitHere(*this, counter, value,
             [=](Worker *worker) { WaitMeanwhile(worker, *counter, value, meanwhile); });
}

void TaskScheduler::WaitForAll(uint32_t count, Counter *const *counters) noexcept {
    if (!AreCounters(*this, count, counters, "WaitForAll")) return;
    for (uint32_t i = 0; i < count; ++i) WaitForCounter(counters[i]);
}

uint32_t TaskScheduler::WaitForAny(uint32_t count, Counter *const *counters) noexcept {
    if (!MayWaitForAny(*this, count, counters, "WaitForAny")) return count;
    return WaitByCaller(
        *this, "WaitForAny", count,
        [&](Worker *worker) { return WaitAny(worker, count, counters); },
        [&](ExternalCall &call) {
            return WaitAnyExternal(call.visit, *call.running, count, counters);
        });
}

bool internal::PassPoint(TaskScheduler &scheduler) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker == nullptr || worker->inHook || worker->noSuspend != nullptr ||
        !IsUrgent(worker, worker->current->level.ThePriority()))
        return false;
    YieldToUrgentNow(worker->current);
    return true;
}

bool TaskScheduler::PollCounter(Counter *counter, uint32_t value) noexcept {
    if (!IsCounter(*this, counter, "PollCounter")) return true;
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) FlushPending(worker);
    return IsSatisfied(*counter, value);
}

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
    if (worker == nullptr) return;
    FlushPending(worker);
    UnclaimRest(worker);
}

void TaskScheduler::SetPriority(Priority priority) noexcept {
    Worker *worker = CallingWorker(*this, "SetPriority");
    TaskOptions options;
    options.priority = priority;
    if (worker != nullptr && AreOptions(worker->scheduler->options, options, "SetPriority"))
        worker->current->level = worker->current->level.At(priority);
}

namespace {

WEFT_FORCEINLINE void TraceChange(Scheduler &scheduler, Worker *worker, TraceKind kind,
                                  const Counter &counter, uint32_t n) noexcept {
    Emit(scheduler, worker, kind, [&](TraceEvent &event) {
        event.count = n;
        event.counter = &counter;
    });
}

}  // namespace

bool TaskScheduler::IncrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "IncrementCounter")) return false;
    if (n == 0) return true;
    return ByCaller(
        *this, "IncrementCounter",
        [&](Worker *worker) {
            FlushPending(worker);
            TraceChange(*worker->scheduler, worker, TraceKind::Increment, *counter, n);
            return RaiseCounter(*worker->scheduler, *counter, n);
        },
        [&](ExternalCall &call) {
            if (call.running == nullptr) return false;
            TraceChange(*call.running, nullptr, TraceKind::Increment, *counter, n);
            return RaiseCounter(*call.running, *counter, n);
        });
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "DecrementCounter") || n == 0) return;
    ByCaller(
        *this, "DecrementCounter",
        [&](Worker *worker) {
            FlushPending(worker);
            TraceChange(*worker->scheduler, worker, TraceKind::Decrement, *counter, n);
            return LowerCounter(*worker->scheduler, worker, *counter, n);
        },
        [&](ExternalCall &call) {
            if (call.running == nullptr) return false;
            TraceChange(*call.running, nullptr, TraceKind::Decrement, *counter, n);
            return LowerCounter(*call.running, nullptr, *counter, n);
        });
}

void TaskScheduler::WaitIdle() noexcept {
    WaitByCaller(
        *this, "WaitIdle", false,
        [](Worker *worker) {
            WaitIdleHere(worker);
            return true;
        },
        [](ExternalCall &call) {
            WaitIdleExternal(call.visit, *call.running);
            return true;
        });
}

uint32_t TaskScheduler::RunPinnedTasks(uint32_t max) noexcept {
    Worker *worker = CallingWorker(*this, "RunPinnedTasks");
    return worker != nullptr && MayWait(worker, "RunPinnedTasks") ? RunPinned(worker, max) : 0;
}

void TaskScheduler::Yield() noexcept {
    Worker *worker = CallingWorker(*this, "Yield");
    if (worker != nullptr && MayWait(worker, "Yield")) YieldFiber(worker);
}

TaskScheduler *TaskScheduler::Current() noexcept {
    const Worker *worker = WorkerOfThread();
    return worker != nullptr ? worker->scheduler->taskScheduler : nullptr;
}

uint32_t TaskScheduler::CurrentWorker() const noexcept {
    Worker *worker = WorkerThatAsks(*this);
    if (worker == nullptr) return kAnyWorker;
    race::AsksFor(worker);
    return worker->index;
}

uint32_t TaskScheduler::CurrentFiber() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    return worker != nullptr ? worker->current->index : kAnyWorker;
}

uint64_t TaskScheduler::CurrentTask() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    return worker != nullptr ? worker->current->taskId : 0;
}

// Asks the running scheduler, because the number of usable CPUs may have changed since it began.
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
