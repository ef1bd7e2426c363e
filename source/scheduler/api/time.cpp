// The public calls with deadlines and conditions. Each one checks its arguments and then calls a
// function of scheduler/wait/.
#include "weft/time.h"
#include "weft/deferred.h"
#include "weft/sync/deadline.h"

#include "scheduler/api/api_checks.h"
#include "scheduler/api/by_caller.h"
#include "scheduler/api/internal_api.h"
#include "scheduler/run/ending.h"
#include "scheduler/submit/timing.h"
#include "scheduler/wait/deferred.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_any.h"

namespace weft {

using namespace internal;

namespace {

Clock::time_point TimePoint(uint64_t nanoseconds) noexcept {
    return Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(nanoseconds)));
}

}  // namespace

Clock::time_point Now() noexcept {
    if (WEFT_UNLIKELY(AnyOrdered())) {
        const Worker *worker = internal::CurrentWorker();
        if (worker != nullptr) return TimePoint(TimeOf(*worker->scheduler));
    }
    return TimePoint(env::Now());
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, deadline, Meanwhile::AnyTask, value);
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         Meanwhile meanwhile, uint32_t value) noexcept {
    if (!IsCounter(scheduler, counter, "WaitForCounterUntil")) return false;
    return WaitByCaller(
        scheduler, "WaitForCounterUntil", false,
        [&](Worker *worker) {
            return WaitAny(worker, 1, &counter, value, NanosecondsOf(deadline), meanwhile) == 0;
        },
        [&](ExternalCall &call) {
            return WaitExternal(call.visit, *call.running, *counter, value,
                                NanosecondsOf(deadline));
        });
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, internal::DeadlineAfter(duration), value);
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       Meanwhile meanwhile, uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, internal::DeadlineAfter(duration), meanwhile,
                               value);
}

uint32_t WaitForAnyUntil(TaskScheduler &scheduler, uint32_t count, Counter *const *counters,
                         Clock::time_point deadline) noexcept {
    if (!MayWaitForAny(scheduler, count, counters, "WaitForAnyUntil")) return count;
    return WaitByCaller(
        scheduler, "WaitForAnyUntil", count,
        [&](Worker *worker) {
            return WaitAny(worker, count, counters, 0, NanosecondsOf(deadline));
        },
        [&](ExternalCall &call) {
            return WaitAnyExternal(call.visit, *call.running, count, counters,
                                   NanosecondsOf(deadline));
        });
}

void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept {
    Worker *worker = WorkerOf(scheduler);
    if (worker == nullptr) {
        env::Parker nobody;
        nobody.ParkUntil(NanosecondsOf(deadline));
    } else if (MayWait(worker, "SleepUntil")) {
        internal::SleepUntil(worker, NanosecondsOf(deadline));
    }
}

void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept {
    SleepUntil(scheduler, internal::DeadlineAfter(duration));
}

namespace {

// Calls submit(scheduler, worker) if the task may be submitted. Returns false after a report.
template <class Submit>
bool Defer(TaskScheduler &taskScheduler, const Task &task, const TaskOptions &options, Unit unit,
           const char *call, Submit submit) noexcept {
    const Caller caller(taskScheduler, call);
    return caller.MaySubmit() && AreTasks(*caller.Running(), 1, &task, options, call) &&
           (unit != Unit::New || MayDefer(*caller.Running(), options, call)) &&
           submit(*caller.Running(), caller.TheWorker());
}

// AddTaskAfter and ContinueAfter.
bool DeferAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, const Task &task,
                Counter *counter, const TaskOptions &options, Unit unit) noexcept {
    if (!IsCounter(scheduler, after, "AddTaskAfter")) return false;
    if (counter == after && value == 0) {
        ReportMistake(
            EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
            "Give a value of 1 or more, or let another counter count the task.",
            "AddTaskAfter: the task would wait for itself, because `after` counts it as well");
        return false;
    }
    const auto submit = [&](Scheduler &running, Worker *worker) {
        if (options.taskGroup != nullptr) {
            const CounterTarget target{after, value};
            return SubmitBatchAfter(running, worker, 1, &target, 1, &task, counter, options,
                                    nullptr);
        }
        return SubmitAfter(running, worker, *after, value, task, {counter, unit}, options);
    };
    return Defer(scheduler, task, options, unit, "AddTaskAfter", submit);
}

// AddTaskAt and ContinueAt.
bool DeferUntil(TaskScheduler &scheduler, Clock::time_point time, const Task &task,
                Counter *counter, const TaskOptions &options, Unit unit,
                DeferredHandle *handle = nullptr) noexcept {
    if (handle != nullptr) *handle = {};
    if (time == Clock::time_point::max()) {
        ReportMistake(
            EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
            "Submit it when its time is known, or let it come after a counter (AddTaskAfter).",
            "AddTaskAt: the time never comes, so the run would not end");
        return false;
    }
    const auto submit = [&](Scheduler &running, Worker *worker) {
        if (options.taskGroup != nullptr || handle != nullptr)
            return SubmitBatchAt(running, worker, NanosecondsOf(time), 1, &task, counter, options,
                                 handle);
        return SubmitAt(running, worker, NanosecondsOf(time), task, {counter, unit}, options);
    };
    return Defer(scheduler, task, options, unit, "AddTaskAt", submit);
}

}  // namespace

bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                  Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value, task, counter, options, Unit::New);
}

bool AddTaskAt(TaskScheduler &scheduler, Clock::time_point time, Task task, Counter *counter,
               const TaskOptions &options, DeferredHandle *handle) noexcept {
    return DeferUntil(scheduler, time, task, counter, options, Unit::New, handle);
}

bool internal::AddKeptTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                                Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value, task, counter, options, Unit::Kept);
}

bool internal::ContinueAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                             Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value, task, counter, options, Unit::OfCaller);
}

bool internal::ContinueAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                          Counter *counter, const TaskOptions &options) noexcept {
    return DeferUntil(scheduler, time, task, counter, options, Unit::OfCaller);
}

bool internal::ContinueAfterOrAt(TaskScheduler &scheduler, TimedWait &wait,
                                 Clock::time_point deadline, Task task, Counter *counter,
                                 const TaskOptions &options) noexcept {
    Worker *const worker = WorkerOf(scheduler);  // a coroutine waits in a task
    AnyWaitOfTask its;
    if (worker == nullptr || !MaySubmit(worker, "co_await") ||
        !BeginWait(worker, &wait.awaited, wait.value, NanosecondsOf(deadline), its))
        return false;
    wait.wait = its.wait;
    wait.timer = its.timer;
    Counter &done = DoneCounterOf(*worker->scheduler, its);
    // From SubmitAfter on another thread may run the task, and `wait` may be gone.
    if (!IsSatisfied(done, 0) &&
        SubmitAfter(*worker->scheduler, worker, done, 0, task, {counter, Unit::OfCaller}, options))
        return true;
    wait.isReached = EndTimedWait(scheduler, wait);
    return false;
}

bool internal::EndTimedWait(TaskScheduler &scheduler, TimedWait &wait) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (wait.wait == TimedWait::kNone || worker == nullptr)
        return wait.isReached || scheduler.PollCounter(wait.awaited, wait.value);
    const AnyWaitOfTask its{wait.wait, wait.timer};
    wait.wait = TimedWait::kNone;
    return EndWait(worker, &wait.awaited, wait.value, its);
}

}  // namespace weft
