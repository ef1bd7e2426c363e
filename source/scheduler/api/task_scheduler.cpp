// The public calls. Each one checks its arguments and then calls a function of submit/ or wait/.
#include "weft/task_scheduler.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/state/check_options.h"

namespace weft {

using namespace internal;

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = WorkerOf(*this);
    const bool plain = task.function != nullptr && options.worker == kAnyWorker &&
                       options.group == kAnyGroup && options.taskGroup == nullptr &&
                       options.priority <= Priority::Low;
    if (WEFT_LIKELY(worker != nullptr && plain && worker->submitBits == 0)) {
        SubmitOne(*worker, task, counter, options);
    } else {
        AddTasks(1, &task, counter, options);
    }
}

void TaskScheduler::AddTasks(uint32_t count, const Task *tasks, Counter *counter,
                             const TaskOptions &options) noexcept {
    if (count == 0) return;
    Caller(*this, "AddTasks").Submit(count, tasks, options, counter);
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
    } else if (worker->inHook) {
        // The task may be in a wait. Then CounterOfTask is the counter that it waits for.
        ReportMistake(worker->scheduler->options, ReportCode::InHook,
                      "Call it from a task; a hook may call AddTasks.",
                      "AddChildTasks was called by a hook or by onReport");
    } else if (AreTasks(*worker->scheduler, count, tasks, options, "AddChildTasks")) {
        Counter *const counter = worker->current->CounterOfTask();
        TaskOptions ofCaller = options;
        if (ofCaller.taskGroup == nullptr) ofCaller.taskGroup = GroupOf(counter);
        Submit(*worker->scheduler, worker, count, tasks, counter, ofCaller);
    }
}

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks,
                                    const TaskOptions &options) noexcept {
    if (count == 0) return NoteWait(*this, "AddTasksAndWait");
    Caller caller(*this, "AddTasksAndWait");
    if (!caller.MayWait() || !caller.Accepts(options, count, tasks)) return;
    if (WEFT_LIKELY(caller.TheWorker() != nullptr))
        return SubmitAndWait(*caller.TheWorker(), count, tasks, options);
    Counter counter;
    if (Submit(*caller.Running(), nullptr, count, tasks, &counter, options))
        caller.AsWaiting().Wait({counter});
}

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, ResumeOn resume) noexcept {
    WaitByCaller(*this, "WaitForCounter", counter, value, Timers::kNever, Meanwhile::AnyTask,
                 resume);
}

void TaskScheduler::WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value) noexcept {
    WaitByCaller(*this, "WaitForCounter", counter, value, Timers::kNever, meanwhile);
}

void TaskScheduler::WaitForAll(uint32_t count, Counter *const *counters) noexcept {
    if (!AreCounters(*this, count, counters, "WaitForAll")) return;
    if (count == 0) NoteWait(*this, "WaitForAll");
    for (uint32_t i = 0; i < count; ++i) WaitForCounter(counters[i]);
}

uint32_t TaskScheduler::WaitForAny(uint32_t count, Counter *const *counters) noexcept {
    return WaitAnyByCaller(*this, "WaitForAny", count, counters, Timers::kNever);
}

bool internal::PassPoint(TaskScheduler &scheduler) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    return worker != nullptr && !worker->inHook && worker->noSuspend == nullptr &&
           PassPoint(*worker->current);
}

void internal::NoteWait(TaskScheduler &scheduler, const char *call) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr && WEFT_UNLIKELY(worker->noSuspend != nullptr)) MayWait(worker, call);
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
    const Caller caller(*this, "IncrementCounter");
    if (caller.Running() == nullptr) return false;
    if (caller.TheWorker() != nullptr) Flush(*caller.TheWorker());
    Emit(*caller.Running(), caller.TheWorker(), TraceKind::Increment, counter, n);
    return RaiseNow(*caller.Running(), *counter, n);
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "DecrementCounter") || n == 0) return;
    const Caller caller(*this, "DecrementCounter");
    if (caller.Running() == nullptr) return;
    if (caller.TheWorker() != nullptr) Flush(*caller.TheWorker());
    Emit(*caller.Running(), caller.TheWorker(), TraceKind::Decrement, counter, n);
    caller.Lower(*counter, n);
}

// A worker that takes its signal sees the new numbers.
void TaskScheduler::SetActiveWorkers(uint32_t count) noexcept {
    const Caller caller(*this, "SetActiveWorkers");
    Scheduler *const running = caller.Running();
    if (running == nullptr) return;
    if (count < 1 || count > running->workerCount) {
        ReportMistake(running->options, ReportCode::BadOption, "Give 1 to WorkerCount().",
                      "SetActiveWorkers: %u of %u workers", count, running->workerCount);
        return;
    }
    running->activeWorkers.store(count, kSeqCst);
    SignalAll(*running, caller.TheWorker());
}

void TaskScheduler::SetRunsLow(uint32_t group, bool runsLow) noexcept {
    const Caller caller(*this, "SetRunsLow");
    Scheduler *const running = caller.Running();
    if (running == nullptr || !IsGroup(running->options, group, "SetRunsLow")) return;
    if (running->options.groupCount <= 1) return;  // there are no others
    const uint32_t bit = 1u << group;
    if (runsLow)
        running->lowGroups.fetch_or(bit, kSeqCst);
    else
        running->lowGroups.fetch_and(~bit, kSeqCst);
    SignalAll(*running, caller.TheWorker());
}

void TaskScheduler::PrepareToBlock() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) internal::PrepareToBlock(*worker);
}

void TaskScheduler::SetPriority(Priority priority) noexcept {
    Worker *worker = CallingWorker(*this, "SetPriority");
    if (worker == nullptr || !IsPriority(worker->scheduler->options, priority, "SetPriority"))
        return;
    worker->current->own = priority;
    worker->current->level = {priority, worker->current->level.Slot()};
}

void TaskScheduler::WaitIdle() noexcept {
    Caller caller(*this, "WaitIdle");
    if (caller.MayWait()) internal::WaitIdle(caller.AsWaiting());
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
    Worker *const worker = WorkerThatAsks(*this);
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
