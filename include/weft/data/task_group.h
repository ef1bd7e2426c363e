// Groups of tasks that can be cancelled together.
//
//     weft::TaskGroup group(*scheduler);
//     group.AddTasks(count, tasks);
//     ...
//     group.Cancel();                                      // tasks that have not begun are skipped
//     if (group.Wait() == weft::GroupResult::Finished) Use(results);
//
// With TaskOptions::taskGroup any submission can name a group: AddTaskAfter, AddTaskAt, closures.
#pragma once

#include "weft/data/cancellation.h"
#include "weft/data/exception_collector.h"
#include "weft/export.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <cstdint>
#include <exception>

namespace weft {

namespace internal {
struct TaskGroupAccess;
}

/// How a wait for a group ended.
enum class GroupResult : uint8_t {
    Finished,   ///< All tasks have finished, and the group was not cancelled.
    Cancelled,  ///< The group was cancelled. All tasks have finished or were skipped.
    Failed,     ///< An exception has left a task. All tasks have finished or were skipped.
    TimedOut    ///< The deadline has passed first: tasks are still pending.
};

/// Counts tasks, like a Counter, and can cancel them together.
///
/// A task of a cancelled group that has not begun is skipped: it counts as finished, but its
/// function is not called. That holds for tasks that wait for a counter or a time, too: they do not
/// wait any longer (see Withdraw in weft/deferred.h). Tasks that have begun run to their end; they
/// may ask IsCancelled, or wait with Token. Child tasks of the group's tasks (AddChildTasks) belong
/// to the group, too.
///
/// A group may have a parent. If the parent is cancelled, so are its child groups and their child
/// groups. A group does not count the tasks of its child groups.
///
/// If an exception leaves a task, the group keeps it if it is the first one, and is cancelled. The
/// exception is not reported. Code that is compiled without exceptions never has one.
///
/// The group must outlive its tasks, its child groups, all waits for it and calls of Cancel. A wait
/// that has returned anything but TimedOut may destroy it. It allocates nothing.
class WEFT_API TaskGroup : private Counter {
public:
    /// Makes an empty group that is not cancelled. `scheduler` need not run yet, and must outlive
    /// the group. If the parent is cancelled, so is the new group. Cost of a parent: a short lock
    /// that all groups below the same topmost group share.
    explicit TaskGroup(TaskScheduler &scheduler, TaskGroup *parent = nullptr) noexcept;
    /// If tasks are pending, reports DestroyedInUse, and waits for them; an external thread also
    /// does so if the wait is refused. Waits for calls of Cancel that use the group. If a child
    /// group exists, reports DestroyedInUse and aborts.
    ~TaskGroup();
    TaskGroup(const TaskGroup &) = delete;
    TaskGroup &operator=(const TaskGroup &) = delete;

    /// Submits tasks that this group counts, as TaskScheduler::AddTasks and with its errors. After
    /// Cancel they are skipped. Thread-safe.
    void AddTasks(uint32_t count, const Task *tasks, const TaskOptions &options = {}) noexcept {
        TaskOptions here = options;
        here.taskGroup = this;
        m_scheduler->AddTasks(count, tasks, nullptr, here);
    }
    void AddTask(Task task, const TaskOptions &options = {}) noexcept {
        AddTasks(1, &task, options);
    }

    /// Cancels the group and all groups below it. Later calls have no effect. Does not wait, and
    /// does not run other tasks. Errors are those of CancelSource::Cancel.
    ///
    /// Takes time in proportion to the number of groups below it. If tasks are pending: for each of
    /// these groups, also in proportion to the largest number of deferred tasks with a group or a
    /// handle in the run so far. Thread-safe.
    void Cancel() noexcept;

    /// Returns true if the group is cancelled. Then everything that was written before Cancel is
    /// visible. Costs one load. Thread-safe.
    bool IsCancelled() const noexcept { return m_source.IsCancelled(); }

    /// Returns a token that is cancelled with the group, for loops and waits. Thread-safe.
    CancelToken Token() noexcept { return m_source.Token(); }

    /// Waits until no task of the group is pending, as TaskScheduler::WaitForCounter, and tells how
    /// it ended. After a report of the wait the result is TimedOut. Thread-safe. An external thread
    /// blocks in the operating system.
    GroupResult Wait(Meanwhile meanwhile = Meanwhile::AnyTask) noexcept {
        m_scheduler->WaitForCounter(this, meanwhile);
        return Result();
    }
    /// The same, until `deadline` at most.
    GroupResult WaitUntil(Clock::time_point deadline) noexcept {
        WaitForCounterUntil(*m_scheduler, this, deadline);
        return Result();
    }

    /// Waits, and then throws the first exception that has left a task, if there is one.
    GroupResult WaitAndRethrow() {
        const GroupResult result = Wait();
        if (const std::exception_ptr first = FirstException()) std::rethrow_exception(first);
        return result;
    }

    /// Returns the first exception that has left a task, or null. Thread-safe.
    std::exception_ptr FirstException() const noexcept { return m_exceptions.First(); }

    /// Returns how many tasks were skipped. Complete after a wait. Thread-safe.
    uint32_t SkippedCount() const noexcept {
        // relaxed: it is only a number; the caller's wait for the tasks orders it.
        return m_skipped.load(std::memory_order_relaxed);
    }

    /// The number of pending tasks, as Counter::Value.
    using Counter::IsZero;
    using Counter::Value;

private:
    friend struct internal::TaskGroupAccess;

    GroupResult Result() const noexcept {
        if (!IsZero()) return GroupResult::TimedOut;
        if (m_exceptions.Count() != 0) return GroupResult::Failed;
        return IsCancelled() ? GroupResult::Cancelled : GroupResult::Finished;
    }

    TaskScheduler *m_scheduler;
    CancelSource m_source;
    WEFT_ATOMIC<uint32_t> m_skipped{0};
    ExceptionCollector m_exceptions;
    // The tree of groups. The lock is that of the topmost group.
    TaskGroup *const m_parent;
    TaskGroup *const m_top;
    TaskGroup *m_firstChild = nullptr;
    TaskGroup *m_nextSibling = nullptr;
    TaskGroup **m_link = nullptr;  // the pointer that points to this group
    uint32_t m_visitors = 0;       // calls of Cancel that use this group
    WEFT_ATOMIC<bool> m_isLocked{false};
    bool m_isPeriodic = false;  // it belongs to a PeriodicTask; set before it is shared
};

namespace internal {

/// What the scheduler does with a group.
struct TaskGroupAccess {
    static TaskGroup *Of(Counter *counter) noexcept { return static_cast<TaskGroup *>(counter); }
    static Counter *CounterOf(TaskGroup *group) noexcept { return group; }

    /// Returns true, and counts a skipped task, if the group is cancelled.
    static bool Skips(TaskGroup &group) noexcept {
        if (!group.IsCancelled()) return false;
        // relaxed: see SkippedCount.
        group.m_skipped.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    /// Returns true if the group is cancelled. If not, a later Cancel sees all that the caller has
    /// written. That takes a read-modify-write, like the exchange in Cancel: of the two, one is
    /// the earlier. acquire and release for that.
    static bool IsCancelledLast(TaskGroup &group) noexcept {
        bool isCancelled = false;
        return !group.m_source.m_isCancelled.compare_exchange_strong(
            isCancelled, false, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    /// Cancels a group that no other thread knows.
    static void CancelNew(TaskGroup &group) noexcept;
    /// Marks the group of a PeriodicTask.
    static void SetPeriodic(TaskGroup &group) noexcept { group.m_isPeriodic = true; }
    static bool IsPeriodic(const TaskGroup &group) noexcept { return group.m_isPeriodic; }
    /// Keeps the exception, and cancels the group.
    static void Fail(TaskGroup &group, std::exception_ptr error) noexcept {
        group.m_exceptions.Keep(static_cast<std::exception_ptr &&>(error));
        group.Cancel();
    }
};

}  // namespace internal
}  // namespace weft
