// The public calls with deadlines, and those that submit tasks later. Each one checks its arguments
// and then calls a function of scheduler/wait/.
#include "weft/time.h"
#include "weft/deferred.h"
#include "weft/sync/deadline.h"

#include "scheduler/api/internal_api.h"
#include "scheduler/state/order.h"
#include "scheduler/wait/deferred.h"

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
    return WaitByCaller(scheduler, "WaitForCounterUntil", counter, value, NanosecondsOf(deadline),
                        meanwhile);
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
    return WaitAnyByCaller(scheduler, "WaitForAnyUntil", count, counters, NanosecondsOf(deadline));
}

void SleepUntil(TaskScheduler &scheduler, Clock::time_point deadline) noexcept {
    Worker *worker = WorkerOf(scheduler);
    if (worker == nullptr) {
        env::Parker nobody;
        nobody.ParkUntil(NanosecondsOf(deadline));
        return;
    }
    Counter never(1);
    if (MayWait(worker, "SleepUntil"))
        Wait(*worker, {never, 0, NanosecondsOf(deadline), WaitKind::Sleep});
}

void SleepFor(TaskScheduler &scheduler, Clock::duration duration) noexcept {
    SleepUntil(scheduler, DeadlineAfter(duration));
}

namespace {

bool MaySubmitLater(const Caller &caller, const LaterTasks &later) noexcept {
    return caller.MaySubmit() &&
           AreTasks(*caller.Running(), later.count, later.tasks, later.options, later.call) &&
           (later.IsKept() || MayDefer(*caller.Running(), later.options, later.call));
}

bool DeferAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                const LaterTasks &tasks) noexcept {
    if (!AreTargets(scheduler, afterCount, after, tasks.count, tasks.counter, tasks.call))
        return false;
    const Caller caller(scheduler, tasks.call);
    return MaySubmitLater(caller, tasks) &&
           SubmitAfter(*caller.Running(), caller.TheWorker(), afterCount, after, tasks);
}

bool DeferUntil(TaskScheduler &scheduler, Clock::time_point time, const LaterTasks &task) noexcept {
    if (task.handle != nullptr) *task.handle = {};
    if (time == Clock::time_point::max()) {
        ReportMistake(
            EntryGate::OptionsOf(scheduler), ReportCode::BadOption,
            "Submit it when its time is known, or let it come after a counter (AddTaskAfter).",
            "%s: the time never comes, so the run would not end", task.call);
        return false;
    }
    const Caller caller(scheduler, task.call);
    return MaySubmitLater(caller, task) &&
           SubmitAt(*caller.Running(), caller.TheWorker(), NanosecondsOf(time), task);
}

}  // namespace

bool AddTasksAfter(TaskScheduler &scheduler, uint32_t afterCount, const CounterTarget *after,
                   uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept {
    if (handle != nullptr) *handle = {};
    if (count == 0) return true;
    return DeferAfter(scheduler, afterCount, after,
                      {"AddTasksAfter", count, tasks, counter, options, handle});
}

bool AddTaskAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                  Counter *counter, const TaskOptions &options) noexcept {
    const CounterTarget target{after, value};
    return DeferAfter(scheduler, 1, &target, {"AddTaskAfter", 1, &task, counter, options});
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
    const CounterTarget target{after, value};
    return DeferAfter(scheduler, 1, &target,
                      {"AddTaskAfter", 1, &task, counter, options, nullptr, false, true});
}

bool internal::ContinueAfter(TaskScheduler &scheduler, Counter *after, uint32_t value, Task task,
                             Counter *counter, const TaskOptions &options) noexcept {
    const CounterTarget target{after, value};
    return DeferAfter(scheduler, 1, &target,
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
