// The public calls that begin and end a run, or attach and detach a thread. Each one checks its
// arguments and then calls a function of scheduler/life/.
#include "scheduler/api/caller.h"
#include "scheduler/life/life.h"
#include "scheduler/state/check_options.h"
#include "weft/sync/deadline.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <cstring>

namespace weft {

using namespace internal;

namespace {

// Copies the options. If they were compiled with older headers, newer members are missing and keep
// their defaults. A wrong structBytes is copied, so that Run reports it.
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

// Checks the group of Run's main task, which begins on worker 0. Returns false after a report.
bool IsMainGroup(const SchedulerOptions &options, const TaskOptions &taskOptions) noexcept {
    if (taskOptions.taskGroup != nullptr) {
        ReportMistake(options, ReportCode::BadOption, "Give no taskGroup for the main task.",
                      "Run: the main task cannot belong to a TaskGroup");
        return false;
    }
    if (!MayNameGroup(options, taskOptions, "Run")) return false;
    if (taskOptions.group == kAnyGroup || taskOptions.group == 0) return true;
    ReportMistake(options, ReportCode::BadOption, "Name the first group, or none.",
                  "Run: the main task begins on worker 0, which is not in its group");
    return false;
}

// Stop, StopFor, and the destructor of a scheduler that was started. `call`: which of them, for
// reports. Returns true if all tasks have run.
bool StopBy(TaskScheduler &taskScheduler, const char *call, uint64_t withdrawsAt) noexcept {
    SchedulerState &state = EntryGate::StateOf(taskScheduler);
    if (IsRefusedInMemoryHook(state.options, call)) return false;
    if (env::CallSlot() == InReport() && state.life.load(kRelaxed) == Life::Started) {
        ReportMistake(state.options, ReportCode::InHook, "Do it when onReport has returned.",
                      "%s was called by onReport: it would wait for the call that reports", call);
        return false;
    }
    if (AnyWorkerOf(taskScheduler) != nullptr) {
        ReportMistake(state.options, ReportCode::WrongThread,
                      "Do it on a thread that is not attached, outside of tasks.",
                      "%s was called by a task or an attached thread: it would wait for itself",
                      call);
        return false;
    }
    Life started = Life::Started;
    if (!state.life.compare_exchange_strong(started, Life::Stopping, kAcquire, kRelaxed)) {
        ReportMistake(state.options, ReportCode::NotRunning,
                      "Call Stop once after each Start; Run ends by itself.",
                      "%s was called without a Start before it", call);
        return false;
    }
    if (state.started->forkMark.IsForked()) {
        ReportForked(state.options, call);  // no thread to join exists here
        return false;
    }
    const bool isComplete = StopScheduler(taskScheduler, withdrawsAt);
    state.life.store(Life::Idle, kRelease);
    return isComplete;
}

// Reports why the calling thread did not get a worker. Returns what RunWorker returns.
Status ReportNotTaken(const TaskScheduler &taskScheduler, const Taken &taken,
                      uint32_t index) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    if (!taken.isRunning) return Status::NotRunning;
    if (taken.isForked) {
        ReportForked(options, "RunWorker");
        return Status::NotRunning;
    }
    if (!options.hostThreads) {
        ReportMistake(options, ReportCode::BadOption, "Set SchedulerOptions::hostThreads.",
                      "RunWorker: the workers are threads of weft");
        return Status::BadOption;
    }
    if (index >= taken.workers) {
        ReportMistake(options, ReportCode::BadOption, "Give an index below WorkerCount().",
                      "RunWorker: the index is %u, and there are %u workers", index, taken.workers);
        return Status::BadOption;
    }
    if (!taken.isEnding) {
        ReportMistake(options, ReportCode::BadOption, "Let one thread run each worker.",
                      "RunWorker: another thread runs worker %u", index);
    }
    return Status::AlreadyRunning;
}

// Reports why the calling thread cannot detach now.
void ReportCannotDetach(const TaskScheduler &taskScheduler) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    const Worker *const own = AnyWorkerOf(taskScheduler);
    const Worker *const newest = internal::CurrentWorker();
    if (own == nullptr || own == newest || !own->current->IsThreadStack()) {
        ReportMistake(options, ReportCode::WrongThread,
                      "Call it from the thread that called AttachThread.",
                      "DetachThread was called by %s",
                      own == nullptr ? "a thread that is not attached" : "a task");
        return;
    }
    const bool isAttached = newest->current->IsThreadStack();
    const char *const name = newest->scheduler->options.threadName;
    ReportMistake(
        options, ReportCode::WrongThread,
        isAttached ? "Detach the thread from that scheduler first."
                   : "Call it outside of tasks, when that run has ended.",
        "DetachThread was called %s scheduler %p ('%s') after this one",
        isAttached ? "by a thread that has attached to" : "in a task on a thread that runs",
        static_cast<const void *>(newest->taskScheduler), name != nullptr ? name : "");
}

}  // namespace

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    EntryGate::Construct(*this, ReadOptions(options));
}

TaskScheduler::~TaskScheduler() {
    if (EntryGate::StateOf(*this).life.load(kAcquire) == Life::Started)
        StopBy(*this, "the destructor of TaskScheduler", Timers::kNever);
}

Status TaskScheduler::Run(TaskFunction main, void *arg, const TaskOptions &options) noexcept {
    std::atomic<Life> &life = EntryGate::StateOf(*this).life;
    const SchedulerOptions &own = EntryGate::OptionsOf(*this);
    if (IsRefusedInMemoryHook(own, "Run")) return Status::NotRunning;
    if (main == nullptr) {
        ReportMistake(own, ReportCode::NullTask, "Give Run a function.", "Run: null main task");
        return Status::BadOption;
    }
    const Status status = CheckOptions(own, 1);
    if (status != Status::Ok) return status;
    if (!IsPriority(own, options.priority, "Run") || !IsMainGroup(own, options))
        return Status::BadOption;
    if (options.worker != kAnyWorker && options.worker != 0) {
        ReportMistake(own, ReportCode::BadOption, "Give kAnyWorker, or 0 for the calling thread.",
                      "Run: TaskOptions::worker of task '%s' is %u; the calling thread is 0",
                      options.name != nullptr ? options.name : "unnamed", options.worker);
        return Status::BadOption;
    }
    Life idle = Life::Idle;
    // acquire, with the release below: a run begins after everything that the last one did.
    if (!life.compare_exchange_strong(idle, Life::Running, kAcquire, kRelaxed))
        return Status::AlreadyRunning;
    const Status result = RunScheduler(*this, {main, arg}, options);
    life.store(Life::Idle, kRelease);
    return result;
}

Status TaskScheduler::Start() noexcept {
    SchedulerState &state = EntryGate::StateOf(*this);
    if (IsRefusedInMemoryHook(state.options, "Start")) return Status::NotRunning;
    Status status = CheckOptions(state.options, 0);
    if (status != Status::Ok) return status;
    Life idle = Life::Idle;
    if (!state.life.compare_exchange_strong(idle, Life::Starting, kAcquire, kRelaxed))
        return Status::AlreadyRunning;
    status = StartScheduler(*this);
    // release: Stop may be called by another thread.
    state.life.store(status == Status::Ok ? Life::Started : Life::Idle, kRelease);
    return status;
}

Status TaskScheduler::RunWorker(uint32_t index) noexcept {
    if (IsRefusedHere(*this, "RunWorker")) return Status::NotRunning;
    if (AnyWorkerOf(*this) != nullptr) {
        ReportMistake(EntryGate::OptionsOf(*this), ReportCode::BadOption,
                      "Call it on a thread of its own for each worker.",
                      "RunWorker was called by a task or an attached thread");
        return Status::AlreadyRunning;
    }
    const Taken taken = RunAbsentWorker(*this, index);
    return taken.worker != nullptr ? Status::Ok : ReportNotTaken(*this, taken, index);
}

void TaskScheduler::Stop() noexcept { StopBy(*this, "Stop", Timers::kNever); }

bool StopFor(TaskScheduler &scheduler, Clock::duration duration) noexcept {
    return StopBy(scheduler, "StopFor", NanosecondsOf(internal::DeadlineAfter(duration)));
}

Status TaskScheduler::AttachThread() noexcept {
    if (AnyWorkerOf(*this) != nullptr) return Status::AlreadyRunning;
    const ExternalCall call(*this, "AttachThread");
    if (!call.MayEnter("AttachThread")) return Status::NotRunning;
    const Status status = Attach(*call.running);
    if (status != Status::TooManyThreads || call.running->workerCount != 0) return status;
    ReportMistake(EntryGate::OptionsOf(*this), ReportCode::BadOption,
                  "Set SchedulerOptions::workers, or attach only one thread at a time.",
                  "AttachThread: without workers only one thread may be attached");
    return Status::BadOption;
}

void TaskScheduler::DetachThread() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker == nullptr && IsRefusedHere(*this, "DetachThread")) return;
    if (worker == nullptr || !worker->current->IsHost()) {
        ReportCannotDetach(*this);
    } else if (MayWait(worker, "DetachThread")) {
        Detach(*worker);
    }
}

}  // namespace weft
