// A queue of tasks that may use only so much time in each frame, such as streaming.
//
//     weft::Task slots[256];
//     weft::BudgetedQueue streaming(*scheduler, 256, slots);
//     streaming.Add({Decode, &texture});                   // false: full
//     ...
//     streaming.BeginFrame(2ms);                           // once a frame; does not wait
//
// The queue's *runners* are Low tasks. Each of them begins one task of the queue after the other.
// Between two of them, the worker runs tasks of higher priority first, as between any two tasks.
#pragma once

#include "weft/data/task_group.h"
#include "weft/export.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <cstdint>
#include <exception>

namespace weft {

/// The options of a BudgetedQueue that is given none.
inline constexpr TaskOptions kBudgetedTasks{Priority::Low, kAnyWorker, "budgeted"};

/// A queue of tasks that begin in the order in which they were added, as long as the current frame
/// has time for them. Tasks that are left wait for the next frame.
///
/// Budget rule: the first task of a frame begins in any case. A later one begins if the time that
/// tasks of the queue have used in this frame is less than the budget. Time is elapsed time, from
/// the begin of a task to its end. So it includes the waits of the task, and the time in which the
/// system runs another thread. The time of several runners adds up. So a frame exceeds its budget
/// by at most one task for each runner.
///
/// If a task goes on in the next frame, its time in that frame counts there, and its runner begins
/// the next task after it. If it has used up the budget of that frame, one more task begins all the
/// same. Child tasks (AddChildTasks) use no budget.
///
/// In each frame with a budget above zero at least one task begins, if a runner is free of the task
/// of an earlier frame before the frame ends. With a budget of zero none begins.
///
/// An exception that leaves a task cancels the queue. The first one is kept, and none is reported.
/// All functions are thread-safe, if they do not say otherwise. They hold a spin lock for a few
/// instructions. Allocates nothing.
class WEFT_API BudgetedQueue {
public:
    /// Makes an empty queue. `storage` has `slots` tasks and must outlive the queue; their values
    /// do not matter. The scheduler must outlive the queue and need not run yet. If the storage is
    /// null, reports BadOption; then the queue has no slots.
    ///
    /// All tasks run with `options`. With kAnyGroup they are in no worker group. If `taskGroup` is
    /// given, the queue is cancelled with it, as a child group. Cost of that: see TaskGroup.
    BudgetedQueue(TaskScheduler &scheduler, uint32_t slots, Task *storage,
                  const TaskOptions &options = kBudgetedTasks) noexcept;
    /// Waits until tasks that have begun have finished. Drops the others. Not in one of its tasks.
    ~BudgetedQueue();
    BudgetedQueue(const BudgetedQueue &) = delete;
    BudgetedQueue &operator=(const BudgetedQueue &) = delete;

    /// Adds a task. What was written before the call is visible to it.
    ///
    /// It begins in this frame if a runner still runs and there is time, and in a later frame if
    /// not. Tasks of the queue may add tasks. Returns false if all slots are in use or the queue is
    /// cancelled; and after a report: NullTask. The scheduler need not run. Does not block.
    bool Add(Task task) noexcept;

    /// Begins a frame with `budget`, in which up to `runners` tasks of the queue run at a time.
    /// Ends the last frame; the rest of its budget is lost. With a budget of zero or less, or
    /// without runners, no task begins.
    ///
    /// Submits as many runners as can begin a task. With Clock::duration::max(), the frame begins
    /// all tasks. Returns false, after a report, if a runner was not submitted: NotRunning,
    /// RunEnding, InHook, BadOption (of the task options). Does not block.
    bool BeginFrame(Clock::duration budget, uint32_t runners = 1) noexcept;

    /// Drops all tasks that have not begun, and refuses further ones, for good. Tasks that have
    /// begun run to their end. Does not wait. Errors and cost are those of TaskGroup::Cancel.
    void Cancel() noexcept { m_group.Cancel(); }
    /// Returns true if the queue is cancelled. A task that takes long may ask. Costs one load.
    bool IsCancelled() const noexcept { return m_group.IsCancelled(); }
    /// Returns a token that is cancelled with the queue.
    CancelToken Token() noexcept { return m_group.Token(); }

    /// Waits until no task of the queue runs and no runner can begin one in this frame: the budget
    /// has been used up, or no task is left. Then tells how TaskGroup::Wait does whether the queue
    /// was cancelled (Finished: it was not). Errors are those of TaskGroup::Wait. Not in one of its
    /// tasks. An external thread blocks in the operating system.
    GroupResult Wait(Meanwhile meanwhile = Meanwhile::AnyTask) noexcept {
        return m_group.Wait(meanwhile);
    }
    /// The same, until `deadline` at most.
    GroupResult WaitUntil(Clock::time_point deadline) noexcept {
        return m_group.WaitUntil(deadline);
    }
    /// Returns the first exception that has left a task, or null.
    std::exception_ptr FirstException() const noexcept { return m_group.FirstException(); }

    /// Returns how many tasks can still begin, in this frame or later. Zero once it is cancelled.
    uint32_t QueuedCount() const noexcept;
    /// Returns how many tasks Cancel or an exception has dropped. Complete after a wait.
    uint32_t DroppedCount() const noexcept;
    /// Returns how many tasks have begun in all frames.
    uint64_t BegunCount() const noexcept;
    /// Returns the time that tasks have used in this frame, with those that still run.
    Clock::duration UsedTime() const noexcept;

private:
    class Held;
    struct Ending;
    static void RunNext(TaskScheduler *scheduler, void *arg);
    bool SubmitRunner() noexcept;
    void End(Clock::time_point begin, bool hasReturned) noexcept;
    // These need the lock.
    bool MayBegin(Clock::time_point now) const noexcept;
    Clock::duration OffsetOf(Clock::time_point time) const noexcept;
    Clock::duration UsedAt(Clock::time_point now) const noexcept;

    TaskScheduler *const m_scheduler;
    Task *const m_slots;
    const uint32_t m_slotCount;
    TaskGroup m_group;  // counts runners, and child tasks of the queue's tasks
    TaskOptions m_options;

    mutable WEFT_ATOMIC<bool> m_isLocked{false};
    // The lock protects everything below. The queue is a ring.
    uint32_t m_first = 0, m_count = 0;
    uint32_t m_runners = 0;     // submitted, and not about to end
    uint32_t m_maxRunners = 0;  // in this frame
    uint32_t m_running = 0;     // tasks of the queue that have begun and not ended
    uint64_t m_begun = 0;       // in all frames
    bool m_hasBegun = false;    // a task, in this frame
    Clock::duration m_budget{0};
    Clock::time_point m_frameBegin{};
    Clock::duration m_ended{0};   // time of tasks that have ended, in this frame
    Clock::duration m_begins{0};  // sum of OffsetOf(begin) of the tasks that are running
};

}  // namespace weft
