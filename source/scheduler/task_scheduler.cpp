// The public calls: checks of what users can get wrong, then the verbs.
#include "weft/task_scheduler.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
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

// A call that any thread may make: for its duration the scheduler exists.
class AnyThreadCall {
public:
    AnyThreadCall(TaskScheduler &facade, const char *call) noexcept : m_facade(facade) {
        m_worker = internal::CurrentWorker();
        if (m_worker != nullptr && m_worker->scheduler->facade == &facade) {
            m_scheduler = m_worker->scheduler;
            FlushPending(m_worker);
            return;
        }
        m_worker = nullptr;
        m_scheduler = Scheduler::ComeIn(facade);
        if (WEFT_UNLIKELY(m_scheduler == nullptr)) {
            ReportMistake(Scheduler::OptionsOf(facade), ReportCode::NotRunning, "Call it while Run runs.",
                          "%s was called while the scheduler does not run", call);
        }
    }
    ~AnyThreadCall() {
        if (m_worker == nullptr) Scheduler::GoOut(m_facade);
    }
    AnyThreadCall(const AnyThreadCall &) = delete;
    AnyThreadCall &operator=(const AnyThreadCall &) = delete;

    Scheduler *Running() const noexcept { return m_scheduler; }  ///< null: it does not run, and that was reported
    Worker *CallingWorker() const noexcept { return m_worker; }  ///< null: the thread is no worker of it

private:
    TaskScheduler &m_facade;
    Scheduler *m_scheduler = nullptr;
    Worker *m_worker = nullptr;
};

bool AreOptions(const SchedulerOptions &options, const TaskOptions &taskOptions, const char *call) noexcept {
    if (taskOptions.priority <= Priority::Low && taskOptions.stack <= StackClass::Large) return true;
    ReportMistake(options, ReportCode::BadOption, "Give one of the values of Priority and of StackClass.",
                  "%s: TaskOptions::%s is out of range", call,
                  taskOptions.priority > Priority::Low ? "priority" : "stack");
    return false;
}

bool AreTasks(const Worker *worker, uint32_t count, const Task *tasks, const TaskOptions &taskOptions,
              const char *call) noexcept {
    if (!AreOptions(worker->scheduler->options, taskOptions, call)) return false;
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
    if (!AreOptions(m_options, options, "Run")) return Status::BadOption;
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
    if (worker == nullptr || count == 0 || !AreTasks(worker, count, tasks, options, "AddTasks")) return;
    Submit(worker, count, tasks, counter, options);
}

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    Worker *worker = CallingWorker(*this, "AddTasksAndWait");
    if (worker == nullptr || count == 0 || !AreTasks(worker, count, tasks, options, "AddTasksAndWait")) return;
    SubmitAndWait(worker, count, tasks, options);
}

void TaskScheduler::WaitForCounter(Counter *counter, uint32_t value, Resume resume) noexcept {
    Worker *worker = CallingWorker(*this, "WaitForCounter");
    if (worker == nullptr || !IsCounter(*this, counter, "WaitForCounter")) return;
    Wait(worker, *counter, value, resume);
}

void TaskScheduler::AddToCounter(Counter *counter, uint32_t n) noexcept {
    const AnyThreadCall call(*this, "AddToCounter");
    if (call.Running() == nullptr || n == 0 || !IsCounter(*this, counter, "AddToCounter")) return;
    RaiseCounter(*call.Running(), *counter, n);
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    const AnyThreadCall call(*this, "DecrementCounter");
    if (call.Running() == nullptr || n == 0 || !IsCounter(*this, counter, "DecrementCounter")) return;
    LowerCounter(*call.Running(), call.CallingWorker(), *counter, n);
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

uint32_t TaskScheduler::WorkerCount() const noexcept {
    Worker *worker = internal::CurrentWorker();
    const bool ours = worker != nullptr && worker->scheduler->facade == this;
    return ours ? worker->scheduler->workerCount : EffectiveWorkers(m_options);
}

}  // namespace weft
