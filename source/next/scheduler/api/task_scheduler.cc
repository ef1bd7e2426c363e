// The public calls. Each one checks its arguments and then calls a function of submit/ or wait/.
#include "weft/task_scheduler.h"
#include "weft/sync/deadline.h"
#include "weft/time.h"

#include "scheduler/api/by_caller.h"
#include "scheduler/state/check_options.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/ready.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_idle.h"

namespace weft {

using namespace internal;

void TaskScheduler::AddTask(Task task, Counter *counter, const TaskOptions &options) noexcept {
    Worker *worker = WorkerOf(*this);
    const bool plain = task.function != nullptr && options.worker == kAnyWorker &&
                       options.priority <= Priority::Low && options.stack <= StackClass::Large;
    if (WEFT_LIKELY(worker != nullptr && plain && !worker->mustNotSubmit)) {
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

void TaskScheduler::AddTasksAndWait(uint32_t count, const Task *tasks,
                                    const TaskOptions &options) noexcept {
    if (count == 0) return;
    WaitByCaller(
        *this, "AddTasksAndWait", false,
        [&](Worker *worker) {
            const bool valid =
                AreTasks(*worker->scheduler, count, tasks, options, "AddTasksAndWait");
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

bool TaskScheduler::PollCounter(Counter *counter, uint32_t value) noexcept {
    if (!IsCounter(*this, counter, "PollCounter")) return true;
    if (Worker *const worker = WorkerOf(*this)) {
        Flush(*worker);
        if (worker->handOver.next != nullptr) ShowHandOver(*worker);
    }
    return IsReached(*counter, value);
}

bool TaskScheduler::IncrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "IncrementCounter")) return false;
    if (n == 0) return true;
    return ByCaller(
        *this, "IncrementCounter",
        [&](Worker *worker) {
            Flush(*worker);
            return RaiseNow(*worker->scheduler, *counter, n);
        },
        [&](ExternalCall &call) {
            return call.running != nullptr && RaiseNow(*call.running, *counter, n);
        });
}

void TaskScheduler::DecrementCounter(Counter *counter, uint32_t n) noexcept {
    if (!IsCounter(*this, counter, "DecrementCounter") || n == 0) return;
    ByCaller(
        *this, "DecrementCounter",
        [&](Worker *worker) {
            Flush(*worker);
            return Lower(*worker->scheduler, worker, *counter, n);
        },
        [&](ExternalCall &call) {
            return call.running != nullptr && Lower(*call.running, nullptr, *counter, n);
        });
}

void TaskScheduler::PrepareToBlock() noexcept {
    Worker *worker = WorkerOf(*this);
    if (worker == nullptr) return;
    ReleaseClaims(*worker);
    Flush(*worker);
    if (worker->handOver.next != nullptr) ShowHandOver(*worker);
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

uint32_t TaskScheduler::WorkerCount() const noexcept {
    return Query(*this, [&](const Scheduler *running) {
        return running != nullptr ? running->workerCount
                                  : EffectiveWorkers(EntryGate::OptionsOf(*this));
    });
}

namespace {

uint64_t NanosecondsOf(Clock::time_point time) noexcept {
    if (time == Clock::time_point::max()) return Timers::kNever;
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
    return since.count() > 0 ? static_cast<uint64_t>(since.count()) : 0;
}

}  // namespace

uint32_t TaskScheduler::MaxConcurrency() const noexcept {
    const uint32_t workers = WorkerCount();
    return workers != 0 ? workers + EntryGate::OptionsOf(*this).maxAttached : 1;
}

Clock::time_point Now() noexcept {
    return Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(env::Now())));
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         uint32_t value) noexcept {
    return WaitForIt(scheduler, counter, "WaitForCounterUntil", value, NanosecondsOf(deadline),
                     ResumeOn::AnyWorker, Meanwhile::AnyTask);
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         Meanwhile meanwhile, uint32_t value) noexcept {
    return WaitForIt(scheduler, counter, "WaitForCounterUntil", value, NanosecondsOf(deadline),
                     ResumeOn::AnyWorker, meanwhile);
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, DeadlineAfter(duration), value);
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       Meanwhile meanwhile, uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, DeadlineAfter(duration), meanwhile, value);
}

void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept {
    Worker *worker = WorkerOf(scheduler);
    if (worker == nullptr) {
        env::Parker nobody;
        nobody.ParkUntil(NanosecondsOf(deadline));
        return;
    }
    Counter never(1);
    if (MayWait(worker, "SleepUntil")) Wait(*worker, {never, 0, NanosecondsOf(deadline)});
}

void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept {
    SleepUntil(scheduler, DeadlineAfter(duration));
}

}  // namespace weft
