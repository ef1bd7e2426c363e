// A task that runs again and again.
//
//     weft::PeriodicTask autosave(*scheduler, 30s, {Save, &game});
//     autosave.Start();
//     ...
//     autosave.Cancel();                                   // or its destructor
//
// Drift rule: with the first run due at time t and the period p, the runs are due at t, t + p,
// t + 2p and so on, however late a run begins and however long it takes. There is never more than
// one run at a time. If a run has not ended when the next one is due, or begins that late, the runs
// that are due by then are missed, and the next one begins at the next of these times.
#pragma once

#include "weft/data/task_group.h"
#include "weft/deferred.h"
#include "weft/report.h"

#include <cstdint>

namespace weft {

/// Runs a task periodically. Between two runs it holds no fiber. Allocates nothing.
///
/// The scheduler, and what the task refers to, must outlive it. Once started, it keeps the run from
/// ending until it is cancelled. StopFor (weft/time.h) cancels it.
class PeriodicTask {
public:
    /// Cannot fail. TaskOptions::taskGroup must be null.
    PeriodicTask(TaskScheduler &scheduler, Clock::duration period, Task task,
                 const TaskOptions &options = {}) noexcept
        : m_scheduler(&scheduler),
          m_period(period),
          m_task(task),
          m_options(options),
          m_namesGroup(options.taskGroup != nullptr),
          m_group(scheduler) {
        m_options.taskGroup = &m_group;
        internal::TaskGroupAccess::SetPeriodic(m_group);
    }
    /// Cancels it, and waits until a run that has begun has ended. The task itself must not destroy
    /// it.
    ~PeriodicTask() {
        if (m_group.IsZero()) return;
        m_group.Cancel();
        m_group.Wait();
    }
    PeriodicTask(const PeriodicTask &) = delete;
    PeriodicTask &operator=(const PeriodicTask &) = delete;

    /// Submits the first run, for the time `first`. Call it once, or again if it has returned
    /// false.
    ///
    /// A run can be late by as much as a task of AddTaskAt. Returns false, after a report, if
    /// nothing was submitted: BadOption if the period is not positive, if a taskGroup is given,
    /// or if it was started already; and the errors of AddTaskAt. Thread-safe while the scheduler
    /// runs.
    bool Start(Clock::time_point first = Now()) noexcept {
        if (m_task.function == nullptr) {  // AddTaskAt gets a task of ours
            internal::ReportMisuse(*m_scheduler, ReportCode::NullTask, "Give the task a function.",
                                   "PeriodicTask::Start: a task with a null function");
            return false;
        }
        // relaxed: it only tells the second call from the first
        if (m_period <= m_period.zero() || m_namesGroup ||
            m_isStarted.exchange(true, std::memory_order_relaxed)) {
            internal::ReportMisuse(*m_scheduler, ReportCode::BadOption,
                                   "Give a period above zero, no taskGroup, and call Start once.",
                                   "PeriodicTask::Start: the period is not positive, there is "
                                   "a taskGroup, or it was called twice");
            return false;
        }
        m_due = first;
        if (Submit()) return true;
        m_isStarted.store(false, std::memory_order_relaxed);
        return false;
    }

    /// Ends it: no further run begins. Does not wait for a run that has begun; the task itself may
    /// call it. Later calls have no effect. Thread-safe.
    void Cancel() noexcept { m_group.Cancel(); }

    /// Waits until it has ended: it was cancelled, or an exception has left a run (Failed). Not in
    /// the task itself. Thread-safe.
    GroupResult Wait() noexcept { return m_group.Wait(); }

    /// Returns the exception that has left a run, or null. Thread-safe.
    std::exception_ptr FirstException() const noexcept { return m_group.FirstException(); }

    /// Returns how many runs have begun, and how many were missed. Thread-safe.
    uint64_t RunCount() const noexcept { return m_runs.load(std::memory_order_relaxed); }
    uint64_t MissedCount() const noexcept { return m_missed.load(std::memory_order_relaxed); }

private:
    bool Submit() noexcept {
        return AddTaskAt(*m_scheduler, m_due, {Step, this}, nullptr, m_options);
    }

    // Sets when the next run is due, and returns how many are missed. Unsigned, because the first
    // time may lie further back than a duration is long. A time that no clock can show is far away.
    uint64_t MoveOn(Clock::time_point now) noexcept {
        const auto count = [](Clock::duration time) { return static_cast<uint64_t>(time.count()); };
        const Clock::time_point last = now < m_due ? m_due : now;
        const uint64_t period = count(m_period),
                       late = count(last.time_since_epoch()) - count(m_due.time_since_epoch());
        constexpr Clock::time_point kFar = Clock::time_point::max() - Clock::duration(1);
        const Clock::time_point begin =
            last - Clock::duration(static_cast<Clock::rep>(late % period));
        m_due = begin > kFar - m_period ? kFar : begin + m_period;
        return late / period;
    }

    static void Step(TaskScheduler *scheduler, void *arg) {
        PeriodicTask &self = *static_cast<PeriodicTask *>(arg);
        // relaxed, all: numbers for reports. One run comes after the other.
        self.m_runs.fetch_add(1, std::memory_order_relaxed);
        self.m_task.function(scheduler, self.m_task.arg);
        self.m_missed.fetch_add(self.MoveOn(Now()), std::memory_order_relaxed);
        if (!self.m_group.IsCancelled()) self.Submit();
    }

    TaskScheduler *const m_scheduler;
    const Clock::duration m_period;
    const Task m_task;
    TaskOptions m_options;
    const bool m_namesGroup;
    Clock::time_point m_due;  // of the run that has begun, or comes next
    TaskGroup m_group;
    WEFT_ATOMIC<uint64_t> m_runs{0}, m_missed{0};
    WEFT_ATOMIC<bool> m_isStarted{false};
};

}  // namespace weft
