// The public calls that begin and end a run, or a thread's part in it: checks (call.h), then the
// verbs.
#include "platform/env.h"
#include "scheduler/attach.h"
#include "scheduler/call.h"
#include "scheduler/check_options.h"
#include "scheduler/lifecycle.h"
#include "scheduler/scheduler.h"
#include "weft/task_scheduler.h"

#include <cstring>

namespace weft {

using namespace internal;

namespace {

// Options that were compiled with older headers lack what came later: that keeps its default. What
// is wrong with structBytes remains to be reported by Run.
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

TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    Gate::Construct(*this, ReadOptions(options));
}

TaskScheduler::~TaskScheduler() {
    if (Gate::FacadeOf(*this).life.load(kAcquire) == Life::Started) Stop();
}

Status TaskScheduler::Run(TaskFunction main, void *arg, const TaskOptions &options) noexcept {
    if (IsRefusedInMemoryHook(Gate::OptionsOf(*this), "Run")) return Status::NotRunning;
    if (main == nullptr) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::NullTask, "Give Run a function.",
                      "Run: null main task");
        return Status::BadOption;
    }
    const Status status = CheckOptions(Gate::OptionsOf(*this), 1);
    if (status != Status::Ok) return status;
    if (!AreOptions(Gate::OptionsOf(*this), options, "Run") ||
        !IsMainGroup(Gate::OptionsOf(*this), options))
        return Status::BadOption;
    if (options.worker != kAnyWorker && options.worker != 0) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::BadOption,
                      "Give kAnyWorker, or 0 for the calling thread.",
                      "Run: TaskOptions::worker is %u", options.worker);
        return Status::BadOption;
    }
    Life idle = Life::Idle;
    // acquire and release: a run begins after everything that the last one did.
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(idle, Life::Running, kAcquire,
                                                            kRelaxed))
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
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(idle, Life::Starting, kAcquire,
                                                            kRelaxed))
        return Status::AlreadyRunning;
    status = StartScheduler(*this);
    // release: Stop may be called by another thread.
    Gate::FacadeOf(*this).life.store(status == Status::Ok ? Life::Started : Life::Idle, kRelease);
    return status;
}

void TaskScheduler::Stop() noexcept {
    if (IsRefusedInMemoryHook(Gate::OptionsOf(*this), "Stop")) return;
    if (env::CallSlot() == InReport() &&
        Gate::FacadeOf(*this).life.load(kRelaxed) == Life::Started) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::InHook,
                      "Call it when onReport has returned.",
                      "Stop, or the destructor, was called by onReport: it would wait for the call "
                      "that reports");
        return;
    }
    if (IsWorkerOf(*this)) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::WrongThread,
                      "Call it from a thread that is not attached, outside of tasks.",
                      "Stop was called by a task or an attached thread: it would wait for itself");
        return;
    }
    Life started = Life::Started;
    if (!Gate::FacadeOf(*this).life.compare_exchange_strong(started, Life::Stopping, kAcquire,
                                                            kRelaxed)) {
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
    ReportMistake(Gate::OptionsOf(*this), ReportCode::BadOption,
                  "Give it workers, or let one thread attach.",
                  "AttachThread: without workers only one thread may be attached");
    return Status::BadOption;
}

void TaskScheduler::DetachThread() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker == nullptr && IsRefusedHere(*this, "DetachThread")) return;
    if (worker == nullptr || !worker->current->IsHost()) {
        ReportMistake(Gate::OptionsOf(*this), ReportCode::WrongThread,
                      "Call it from the thread that called AttachThread.",
                      "DetachThread was called by %s",
                      worker == nullptr ? "a thread that is not attached" : "a task");
        return;
    }
    if (MayWait(worker, "DetachThread")) Detach(worker);
}

}  // namespace weft
