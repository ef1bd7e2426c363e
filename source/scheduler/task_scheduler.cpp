// The public calls: checks (call.h), then the verbs.
#include "weft/task_scheduler.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/attach.h"
#include "scheduler/caller.h"
#include "scheduler/check_options.h"
#include "scheduler/claim.h"
#include "scheduler/foreign.h"
#include "scheduler/help.h"
#include "scheduler/lifecycle.h"
#include "scheduler/pinned.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/scheduler.h"
#include "scheduler/submit.h"
#include "scheduler/wait.h"
#include "scheduler/wait_any.h"

#include <cstring>

namespace weft {

using namespace internal;

namespace {

// seq_cst: an inactive worker announces that it sleeps, and then looks at the number.
void SetActive(Scheduler &scheduler, uint32_t count) noexcept {
    if (count < 1 || count > scheduler.workerCount) {
        ReportMistake(scheduler.options, ReportCode::BadOption, "Give 1 to WorkerCount().",
                      "SetActiveWorkers: %u of %u workers", count, scheduler.workerCount);
        return;
    }
    scheduler.activeWorkers.store(count, kSeqCst);  // [order]
    WakeEverySleeper(scheduler);
}

// Who publishes a Low task looks at the groups afterwards, and wakes one of their workers.
void SetLowGroupsTo(Scheduler &scheduler, uint8_t groups) noexcept {
    SetLow(scheduler, groups);                   // [order]
    ShowLevel(scheduler, Level(Priority::Low));  // others may have hidden what they do not run
    WakeEverySleeper(scheduler);
}

// Options that were compiled with older headers lack what came later: that keeps its default. What is wrong with
// structBytes remains to be reported by Run.
SchedulerOptions ReadOptions(const SchedulerOptions &given) noexcept {
    SchedulerOptions options;
    const uint32_t bytes = given.structBytes;
    if (bytes >= kLeastOptionBytes && bytes <= sizeof options) {
        std::memcpy(static_cast<void *>(&options), &given, bytes);
    } else {
        options.onReport = given.onReport;
        options.user = given.user;
        options.structBytes = bytes;
    }
    return options;
}

}  // namespace

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept { Gate::Construct(*this, ReadOptions(options)); }

TaskScheduler::~TaskScheduler() {
    if (Gate::FacadeOf(*this).life.load(kAcquire) == Life::Started) Stop();
}

Status TaskScheduler::Run(TaskFunction main, void *arg, const TaskOptions &options) noexcept {
    if (IsRefusedInMemoryHook(Gate::OptionsOf(*this), "Run")) return Status::NotRunning;
    if (main == nullptr) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::NullTask, "Give Run a function.", "Run: null main task");
        return Status::BadOption;
    }
    const Status status = CheckOptions(Gate::OptionsOf(*this), 1);
    if (status != Status::Ok) return status;
    if (!AreOptions(Gate::OptionsOf(*this), options, "Run") || !IsMainGroup(Gate::OptionsOf(*this), options))
        return Status::BadOption;
    if (options.worker != kAnyWorker && options.worker != 0) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::BadOption, "Give kAnyWorker, or 0 for the calling thread.",
                      "Run: TaskOptions::worker is %u", options.worker);
        return Status::BadOption;
    }
    Life idle = Life::Idle;
    // acquire and release: a run begins after everything that the last one did.
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(idle, Life::Running, kAcquire, kRelaxed))
        return Status::AlreadyRunning;
    const Status result = RunScheduler(*this, {main, arg}, options);
    Gate::FacadeOf(*this).life.store(Life::Idle, kRelease);
    return result;
}

Status TaskScheduler::Start() noexcept {
    if (IsRefusedInMemoryHook(Gate::OptionsOf(*this), "Start")) return Status::NotRunning;
    Status status = CheckOptions(Gate::OptionsOf(*this), 0);
    if (status != Status::Ok) return status;
    Life idle = Life::Idle;
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(idle, Life::Starting, kAcquire, kRelaxed))
        return Status::AlreadyRunning;
    status = StartScheduler(*this);
    // release: Stop may be called by another thread.
    Gate::FacadeOf(*this).life.store(status == Status::Ok ? Life::Started : Life::Idle, kRelease);
    return status;
}

void TaskScheduler::Stop() noexcept {
    if (IsRefusedInMemoryHook(Gate::OptionsOf(*this), "Stop")) return;
    if (env::CallSlot() == InReport() && Gate::FacadeOf(*this).life.load(kRelaxed) == Life::Started) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::InHook, "Call it when onReport has returned.",
                      "Stop, or the destructor, was called by onReport: it would wait for the call that reports");
        return;
    }
    if (IsWorkerOf(*this)) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::WrongThread,
                      "Call it from a thread that is not attached, outside of tasks.",
                      "Stop was called by a task or an attached thread: it would wait for itself");
        return;
    }
    Life started = Life::Started;
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(started, Life::Stopping, kAcquire, kRelaxed)) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::NotRunning,
                      "Call Stop once after each Start; Run ends by itself.",
                      "Stop was called without a Start before it");
        return;
    }
    if (Gate::FacadeOf(*this).started->forkMark.IsForked()) {
        ReportForked(Gate::OptionsOf(*this), "Stop");  // there is nobody to join
        return;
    }
    StopScheduler(*this);
    Gate::FacadeOf(*this).life.store(Life::Idle, kRelease);
}

Status TaskScheduler::AttachThread() noexcept {
    if (IsWorkerOf(*this)) return Status::AlreadyRunning;
    const ForeignCall call(*this, "AttachThread");
    if (!call.MayEnter("AttachThread")) return Status::NotRunning;
    const Status status = Attach(*call.running);
    if (status != Status::TooManyThreads || call.running->workerCount != 0) return status;
    ReportMistake(Gate::OptionsOf(*this), ReportCode::BadOption, "Give it workers, or let one thread attach.",
                  "AttachThread: without workers only one thread may be attached");
    return Status::BadOption;
}

void TaskScheduler::DetachThread() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker == nullptr && IsRefusedHere(*this, "DetachThread")) return;
    if (worker == nullptr || !worker->current->IsHost()) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::WrongThread,
                      "Call it from the thread that called AttachThread.", "DetachThread was called by %s",
                      worker == nullptr ? "a thread that is not attached" : "a task");
        return;
    }
    if (MayWait(worker, "DetachThread")) Detach(worker);
}

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = WorkerOf(*this);
    const bool plain = task.function != nullptr && (worker == nullptr || !worker->mustNotSubmit) &&
                       options.worker == kAnyWorker && options.groups == 0 && options.priority <= Priority::Low &&
                       options.stack <= StackClass::Large;
    if (WEFT_LIKELY(worker != nullptr && plain)) {
        SubmitOne(worker, task, counter, options);
    } else {
        AddTasks(1, &task, counter, options);
    }
}

void TaskScheduler::AddTasks(uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options) noexcept {
    if (count == 0) return;
    Worker *worker = WorkerOf(*this);
    if (WEFT_LIKELY(worker != nullptr)) {
        if (!MaySubmit(worker, "AddTasks") || !AreTasks(*worker->scheduler, count, tasks, options, "AddTasks")) return;
        Submit(worker, count, tasks, counter, options);
        return;
    }
    const ForeignCall call(*this, "AddTasks");
    if (!call.MayEnter("AddTasks") || !AreTasks(*call.running, count, tasks, options, "AddTasks")) return;
    Post(*call.running, nullptr, count, tasks, counter, options);
}

void TaskScheduler::AddChildTasks(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    if (count == 0) return;
    Worker *worker = CallingWorker(*this, "AddChildTasks");
    if (worker == nullptr) return;
    if (worker->current->IsHost()) {
        ReportMistake(worker->scheduler->options, ReportCode::NotAWorker, "Call it from a task, or call AddTasks.",
                      "AddChildTasks was called outside of tasks");
    } else if (MayAddChildren(worker, "AddChildTasks") &&
               AreTasks(*worker->scheduler, count, tasks, options, "AddChildTasks")) {
        Submit(worker, count, tasks, worker->current->CounterOfTask(), options);
    }
}

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    if (count == 0) return;
    Worker *worker = WorkerOf(*this);
    if (WEFT_LIKELY(worker != nullptr)) {
        if (MayWait(worker, "AddTasksAndWait") &&
            AreTasks(*worker->scheduler, count, tasks, options, "AddTasksAndWait")) {
            SubmitAndWait(worker, count, tasks, options);
        }
        return;
    }
    ForeignCall call(*this, "AddTasksAndWait");
    if (!call.MayEnter("AddTasksAndWait") || !AreTasks(*call.running, count, tasks, options, "AddTasksAndWait")) return;
    Counter counter;
    if (Post(*call.running, nullptr, count, tasks, &counter, options))
        WaitForeign(call.visit, *call.running, counter, 0);
}

namespace {

// wait(worker), unless the caller is no worker.
template <class Wait>
WEFT_FORCEINLINE void WaitHere(TaskScheduler &scheduler, Counter *counter, uint32_t value, Wait wait) noexcept {
    if (!IsCounter(scheduler, counter, "WaitForCounter")) return;
    Worker *worker = WorkerOf(scheduler);
    if (WEFT_LIKELY(worker != nullptr)) {
        if (MayWait(worker, "WaitForCounter")) wait(worker);
        return;
    }
    ForeignCall call(scheduler, "WaitForCounter");
    if (call.MayEnter("WaitForCounter")) WaitForeign(call.visit, *call.running, *counter, value);
}

}  // namespace

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, Resume resume) noexcept {
    WaitHere(*this, counter, value, [=](Worker *worker) { Wait(worker, *counter, value, resume); });
}

void TaskScheduler::WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value) noexcept {
    WaitHere(*this, counter, value, [=](Worker *worker) { WaitMeanwhile(worker, *counter, value, meanwhile); });
}

void TaskScheduler::WaitForAll(uint32_t count, Counter *const *counters) noexcept {
    if (!AreCounters(*this, count, counters, "WaitForAll")) return;
    for (uint32_t i = 0; i < count; ++i) WaitForCounter(counters[i]);
}

uint32_t TaskScheduler::WaitForAny(uint32_t count, Counter *const *counters) noexcept {
    if (!MayWaitForAny(*this, count, counters, "WaitForAny")) return count;
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) {
        return MayWait(worker, "WaitForAny") ? WaitAny(worker, count, counters) : count;
    }
    ForeignCall call(*this, "WaitForAny");
    return call.MayEnter("WaitForAny") ? WaitAnyForeign(call.visit, *call.running, count, counters) : count;
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
    if (caller.Running() != nullptr && (groups == 0 || AreGroups(caller.Running()->options, groups, "SetLowGroups")))
        SetLowGroupsTo(*caller.Running(), groups);
}

void TaskScheduler::AboutToBlock() noexcept {
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

bool TaskScheduler::AddToCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "AddToCounter")) return false;
    if (n == 0) return true;
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) {
        FlushPending(worker);
        return RaiseCounter(*worker->scheduler, *counter, n);
    }
    const ForeignCall call(*this, "AddToCounter");
    return call.running != nullptr && RaiseCounter(*call.running, *counter, n);
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "DecrementCounter") || n == 0) return;
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) {
        FlushPending(worker);
        LowerCounter(*worker->scheduler, worker, *counter, n);
        return;
    }
    const ForeignCall call(*this, "DecrementCounter");
    if (call.running != nullptr) LowerCounter(*call.running, nullptr, *counter, n);
}

void TaskScheduler::WaitIdle() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker != nullptr) {
        if (MayWait(worker, "WaitIdle")) WaitIdleHere(worker);
        return;
    }
    ForeignCall call(*this, "WaitIdle");
    if (call.MayEnter("WaitIdle")) WaitIdleForeign(call.visit, *call.running);
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
    return worker != nullptr ? worker->scheduler->facade : nullptr;
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

// While it runs, those that it has: the CPUs that are usable now may be others than at the start.
uint32_t TaskScheduler::WorkerCount() const noexcept {
    const Worker *worker = WorkerThatAsks(*this);
    if (worker != nullptr) return worker->scheduler->workerCount;
    if (MemoryHookCall::Current() != nullptr) return EffectiveWorkers(Gate::OptionsOf(*this));  // it may be in the gate
    Gate::Visit visit(const_cast<TaskScheduler &>(*this));
    const Scheduler *running = visit.ComeIn();
    const uint32_t count = running != nullptr ? running->workerCount : EffectiveWorkers(Gate::OptionsOf(*this));
    visit.GoOut();
    return count;
}

}  // namespace weft
