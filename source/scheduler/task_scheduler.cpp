// The public calls: checks of what users can get wrong, then the verbs.
#include "weft/task_scheduler.h"

#include "platform/compiler.h"
#include "scheduler/lifecycle.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/scheduler.h"
#include "scheduler/submit.h"
#include "scheduler/wait.h"

namespace weft {

using namespace internal;

namespace {

// The calling task's worker; null, after a report, for a thread that runs no task of this scheduler.
Worker *CallingWorker(const TaskScheduler &facade, const char *call) noexcept {
    Worker *worker = internal::CurrentWorker();
    if (WEFT_UNLIKELY(worker == nullptr || worker->scheduler->facade != &facade)) {
        ReportMistake(Scheduler::OptionsOf(facade), ReportCode::NotAWorker,
                      "Call it from a task that this scheduler runs, such as the one given to Run.",
                      "%s was called by a thread that runs no task of this scheduler", call);
        return nullptr;
    }
    return worker;
}

// The scheduler, for calls that any thread may make; null, after a report, while it does not run.
Scheduler *RunningScheduler(const TaskScheduler &facade, const char *call) noexcept {
    Scheduler *scheduler = Scheduler::Of(facade);
    if (WEFT_UNLIKELY(scheduler == nullptr)) {
        ReportMistake(Scheduler::OptionsOf(facade), ReportCode::NotRunning, "Call it while Run runs.",
                      "%s was called while the scheduler does not run", call);
    }
    return scheduler;
}

// The calling worker if it belongs to `scheduler`.
Worker *OwnWorker(Scheduler *scheduler) noexcept {
    Worker *worker = internal::CurrentWorker();
    if (worker != nullptr && worker->scheduler == scheduler) return worker;
    scheduler->foreignCalls.store(true, kRelaxed);  // a hint for reports
    return nullptr;
}

bool AreTasks(const Worker *worker, uint32_t count, const Task *tasks, const char *call) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        if (WEFT_UNLIKELY(tasks == nullptr || tasks[i].function == nullptr)) {
            ReportMistake(worker->scheduler->options, ReportCode::NullTask, "Give every task a function.",
                          tasks == nullptr ? "%s: null tasks" : "%s: task %u has a null function", call, i);
            return false;
        }
    }
    return true;
}

bool IsCounter(const TaskScheduler &facade, const Counter *counter, const char *call) noexcept {
    if (WEFT_UNLIKELY(counter == nullptr)) {
        ReportMistake(Scheduler::OptionsOf(facade), ReportCode::NullCounter, "Give it a counter.", "%s: null counter",
                      call);
        return false;
    }
    return true;
}

}  // namespace

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept : m_options(options) {}

TaskScheduler::~TaskScheduler() = default;

Status TaskScheduler::Run(TaskFunction main, void *arg, const TaskOptions &options) noexcept {
    if (main == nullptr) {
        ReportMistake(m_options, ReportCode::NullTask, "Give Run a function.", "Run: null main task");
        return Status::BadOption;
    }
    const Status status = CheckOptions(m_options);
    if (status != Status::Ok) return status;
    bool idle = false;
    // acquire and release: a run begins after everything that the last one did.
    if (!m_running.compare_exchange_strong(idle, true, kAcquire, kRelaxed)) return Status::AlreadyRunning;
    const Status result = RunScheduler(*this, m_options, {main, arg}, options);
    m_running.store(false, kRelease);
    return result;
}

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    AddTasks(1, &task, counter, options);
}

void TaskScheduler::AddTasks(uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = CallingWorker(*this, "AddTasks");
    if (worker == nullptr || count == 0 || !AreTasks(worker, count, tasks, "AddTasks")) return;
    Submit(worker, count, tasks, counter, options);
}

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    Worker *worker = CallingWorker(*this, "AddTasksAndWait");
    if (worker == nullptr || count == 0 || !AreTasks(worker, count, tasks, "AddTasksAndWait")) return;
    SubmitAndWait(worker, count, tasks, options);
}

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, Resume resume) noexcept {
    Worker *worker = CallingWorker(*this, "WaitForCounter");
    if (worker == nullptr || !IsCounter(*this, counter, "WaitForCounter")) return;
    Wait(worker, *counter, value, resume);
}

void TaskScheduler::AddToCounter(Counter *counter, uint32_t n) noexcept {
    Scheduler *scheduler = RunningScheduler(*this, "AddToCounter");
    if (scheduler == nullptr || n == 0 || !IsCounter(*this, counter, "AddToCounter")) return;
    OwnWorker(scheduler);
    RaiseCounter(*scheduler, *counter, n);
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    Scheduler *scheduler = RunningScheduler(*this, "DecrementCounter");
    if (scheduler == nullptr || n == 0 || !IsCounter(*this, counter, "DecrementCounter")) return;
    LowerCounter(*scheduler, OwnWorker(scheduler), *counter, n);
}

void TaskScheduler::Yield() noexcept {
    Worker *worker = CallingWorker(*this, "Yield");
    if (worker != nullptr) YieldFiber(worker);
}

TaskScheduler *TaskScheduler::Current() noexcept {
    Worker *worker = internal::CurrentWorker();
    return worker != nullptr ? worker->scheduler->facade : nullptr;
}

uint32_t TaskScheduler::CurrentWorker() const noexcept {
    Worker *worker = internal::CurrentWorker();
    return worker != nullptr && worker->scheduler->facade == this ? worker->index : kAnyWorker;
}

uint32_t TaskScheduler::CurrentFiber() const noexcept {
    Worker *worker = internal::CurrentWorker();
    return worker != nullptr && worker->scheduler->facade == this ? worker->current->index : kAnyWorker;
}

uint32_t TaskScheduler::WorkerCount() const noexcept { return EffectiveWorkers(m_options); }

}  // namespace weft
