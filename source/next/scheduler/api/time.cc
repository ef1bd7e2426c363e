// The public calls with deadlines, and those that submit tasks later. Each one checks its arguments
// and then calls a function of scheduler/wait/.
#include "weft/time.h"
#include "weft/deferred.h"
#include "weft/sync/deadline.h"

#include "scheduler/api/by_caller.h"
#include "scheduler/api/internal_api.h"
#include "scheduler/state/order_access.h"
#include "scheduler/wait/deferred.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_any.h"

#include <utility>

namespace weft {

using namespace internal;

Clock::time_point Now() noexcept {
    uint64_t now = env::Now();
    if (WEFT_UNLIKELY(AnyOrdered())) {
        const Worker *worker = internal::CurrentWorker();
        if (worker != nullptr) now = TimeOf(*worker->scheduler);
    }
    return Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(now)));
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, deadline, Meanwhile::AnyTask, value);
}

bool WaitForCounterUntil(TaskScheduler &scheduler, Counter *counter, Clock::time_point deadline,
                         Meanwhile meanwhile, uint32_t value) noexcept {
    if (!IsCounter(scheduler, counter, "WaitForCounterUntil")) return false;
    const uint64_t until = NanosecondsOf(deadline);
    return WaitByCaller(
        scheduler, "WaitForCounterUntil", false,
        [&](Worker *worker) {
            return Wait(*worker, {*counter, value, until, ResumeOn::AnyWorker, meanwhile});
        },
        [&](ExternalCall &call) {
            return WaitExternal(call.visit, *call.running, *counter, value, until);
        });
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, DeadlineAfter(duration), value);
}

bool WaitForCounterFor(TaskScheduler &scheduler, Counter *counter, Clock::duration duration,
                       Meanwhile meanwhile, uint32_t value) noexcept {
    return WaitForCounterUntil(scheduler, counter, DeadlineAfter(duration), meanwhile, value);
}

uint32_t WaitForAnyUntil(TaskScheduler &scheduler, uint32_t count, Counter *const *counters,
                         Clock::time_point deadline) noexcept {
    if (!MayWaitForAny(scheduler, count, counters, "WaitForAnyUntil")) return count;
    const uint64_t until = NanosecondsOf(deadline);
    return WaitByCaller(
        scheduler, "WaitForAnyUntil", count,
        [&](Worker *worker) { return WaitAny(*worker, count, counters, until); },
        [&](ExternalCall &call) {
            return WaitAnyExternal(call.visit, *call.running, count, counters, until);
        });
}

void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept {
    Worker *worker = WorkerOf(scheduler);
    if (worker == nullptr) {
        env::Parker nobody;
        nobody.ParkUntil(NanosecondsOf(deadline));
        return;
    }
    Counter never(1);
    WaitFor what{never, 0, NanosecondsOf(deadline)};
    what.kind = WaitKind::Sleep;
    if (MayWait(worker, "SleepUntil")) Wait(*worker, what);
}

void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept {
    SleepUntil(scheduler, DeadlineAfter(duration));
}

bool AddTasksAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                   uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept {
    if (handle != nullptr) *handle = {};
    if (count == 0) return true;
    if (!AreTargets(scheduler, afterCount, after, count, counter, "AddTasksAfter")) return false;
    const Caller caller(scheduler, "AddTasksAfter");
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), count, tasks, options, "AddTasksAfter") &&
           MayDefer(*caller.Running(), options, "AddTasksAfter") &&
           SubmitAfter(*caller.Running(), caller.TheWorker(), afterCount, after,
                       {"AddTasksAfter", count, tasks, counter, options, handle});
}

namespace {

bool DeferAfter(TaskScheduler &scheduler, Counter *after, uint32_t value,
                const LaterTasks &task) noexcept {
    if (!IsCounter(scheduler, after, task.call)) return false;
    if (task.counter == after && value == 0) {
        ReportMistake(
            EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
            "Give a value of 1 or more, or let another counter count the task.",
            "AddTaskAfter: the task would wait for itself, because `after` counts it as well");
        return false;
    }
    const CounterTarget target{after, value};
    const Caller caller(scheduler, task.call);
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), 1, task.tasks, task.options, task.call) &&
           (task.IsKept() || MayDefer(*caller.Running(), task.options, task.call)) &&
           SubmitAfter(*caller.Running(), caller.TheWorker(), 1, &target, task);
}

bool DeferUntil(TaskScheduler &scheduler, Clock::time_point time, const LaterTasks &task) noexcept {
    if (task.handle != nullptr) *task.handle = {};
    if (time == Clock::time_point::max()) {
        ReportMistake(
            EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
            "Submit it when its time is known, or let it come after a counter (AddTaskAfter).",
            "AddTaskAt: the time never comes, so the run would not end");
        return false;
    }
    const Caller caller(scheduler, task.call);
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), 1, task.tasks, task.options, task.call) &&
           (task.IsKept() || MayDefer(*caller.Running(), task.options, task.call)) &&
           SubmitAt(*caller.Running(), caller.TheWorker(), NanosecondsOf(time), task);
}

}  // namespace

bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                  Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value, {"AddTaskAfter", 1, &task, counter, options});
}

bool AddTaskAt(TaskScheduler &scheduler, Clock::time_point time, Task task, Counter *counter,
               const TaskOptions &options, DeferredHandle *handle) noexcept {
    return DeferUntil(scheduler, time, {"AddTaskAt", 1, &task, counter, options, handle});
}

bool Withdraw(TaskScheduler &scheduler, DeferredHandle handle) noexcept {
    const Caller caller(scheduler, "Withdraw");
    // also while the run is ending: it cannot prolong the run
    return caller.Running() != nullptr && MaySubmit(caller.TheWorker(), "Withdraw") &&
           WithdrawTasks(*caller.Running(), caller.TheWorker(), handle, true);
}

bool internal::AddKeptTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                                Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value,
                      {"AddTaskAfter", 1, &task, counter, options, nullptr, false, true});
}

bool internal::ContinueAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                             Counter *counter, const TaskOptions &options) noexcept {
    return DeferAfter(scheduler, after, value,
                      {"co_await", 1, &task, counter, options, nullptr, true});
}

bool internal::ContinueAt(TaskScheduler &scheduler, Clock::time_point time, Task task,
                          Counter *counter, const TaskOptions &options) noexcept {
    return DeferUntil(scheduler, time, {"co_await", 1, &task, counter, options, nullptr, true});
}

bool internal::ContinueAfterOrAt(TaskScheduler &scheduler, TimedWait &wait,
                                 Clock::time_point deadline, Task task, Counter *counter,
                                 const TaskOptions &options) noexcept {
    Worker *const worker = WorkerOf(scheduler);  // a coroutine waits in a task
    if (worker == nullptr || !MaySubmit(worker, "co_await")) return false;
    Flush(*worker);
    wait.isReached = IsReached(*wait.awaited, wait.value);
    if (wait.isReached || NanosecondsOf(deadline) <= TimeOf(*worker->scheduler)) return false;
    // From here on another thread may run the task, and `wait` may be gone.
    return SubmitAfterOrAt(*worker->scheduler, *worker, {wait.awaited, wait.value},
                           NanosecondsOf(deadline),
                           {"co_await", 1, &task, counter, options, nullptr, true}, wait.wait);
}

bool internal::EndTimedWait(TaskScheduler &scheduler, TimedWait &wait) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (wait.wait == TimedWait::kNone || worker == nullptr)
        return wait.isReached || scheduler.PollCounter(wait.awaited, wait.value);
    return EndAfterOrAt(*worker, {wait.awaited, wait.value},
                        std::exchange(wait.wait, TimedWait::kNone));
}

}  // namespace weft
