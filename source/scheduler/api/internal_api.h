// What the layers above the scheduler (sync, post, blocking, frame) may use of it, in addition to
// its public interface.
#pragma once

#include "platform/memory.h"
#include "scheduler/api/caller.h"
#include "scheduler/state/order.h"
#include "weft/poll.h"

namespace weft::internal {

/// Returns options for an object of weft: its tasks are in the group that these options name, or in
/// none, whichever thread submits them.
inline TaskOptions OfOwner(TaskOptions options) noexcept {
    if (options.group == kAnyGroup) options.group = kInSlot;
    return options;
}

/// For a task that does several pieces of work, one after the other, in place of a task for each
/// piece (graph). The worker may change during a piece, but the fiber does not.
class PiecewiseTask {
public:
    explicit PiecewiseTask(const TaskScheduler &scheduler) noexcept
        : m_fiber(WorkerOf(scheduler)->current), m_level(m_fiber->level), m_own(m_fiber->own) {}

    /// Returns true if each piece must be a task of its own, so that the trace shows it.
    bool IsTraced() const noexcept { return internal::IsTraced(*m_fiber->worker->scheduler); }
    /// A piece begins. `name`: for reports, as TaskOptions::name.
    void Begin(const char *name) noexcept {
        m_fiber->name.store(name, kRelaxed);
        // the piece before may have changed its priority
        m_fiber->level = m_level;
        m_fiber->own = m_own;
    }
    void End() const noexcept {}
    /// Returns false if the task should end here, because other work is due. Then submit the next
    /// piece. Counts as a pick.
    bool MayGoOn() const noexcept { return !Point(*m_fiber->worker); }
    /// Submits child tasks (TaskScheduler::AddChildTasks). The arguments have been checked. Returns
    /// false, after a report, if the worker of the options has detached.
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options) const noexcept {
        return internal::Submit(*m_fiber->worker->scheduler, m_fiber->worker, count, tasks,
                                m_fiber->CounterOfTask(), options);
    }

private:
    Fiber *const m_fiber;
    const Level m_level;
    const Priority m_own;
};

/// Lowers a counter of weft's own for which a task or a thread waits. Returns false, after a
/// report, if the run has ended.
///
/// In a memory hook the call is reported as well, and then done as by an external thread. It takes
/// no memory. The waiter keeps the run from ending until it is notified. So this call need not wait
/// at the gate; it only keeps the gate from closing.
bool LowerForWaiter(TaskScheduler &taskScheduler, Counter &counter, const char *call) noexcept;

/// Returns true if a call may make its caller wait as a task: for a task of this scheduler, and for
/// a thread that is attached to it. Returns false, after a report, in a hook of any kind.
inline bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept {
    return MayWaitHere(scheduler, call) && WorkerOf(scheduler) != nullptr;
}

/// Tells an event of the calling worker or external thread.
void EmitFrom(TaskScheduler &scheduler, TraceKind kind, TraceEvent event) noexcept;

/// A point in a call that may wait, at which other tasks could run if it did. With an order, draws
/// whether they do.
void LetOthersRun(const TaskScheduler &scheduler) noexcept;
inline void SchedulingPoint(const TaskScheduler &scheduler) noexcept {
    if (WEFT_UNLIKELY(AnyOrdered())) LetOthersRun(scheduler);
}

/// What a task or thread does with a lock.
enum class LockStep : uint8_t {
    Awaits,   ///< It wants the lock, and may wait.
    GivesUp,  ///< It does not want it any more.
    Locks,    ///< It has the lock now.
    Unlocks   ///< It is about to unlock it. It may be that another task has locked it.
};
/// Notes it for traces, and for reports if the scheduler remembers the holders of locks.
void NoteLock(TaskScheduler &scheduler, LockStep step, const void *lock) noexcept;

/// Reports that there is no memory for a part of weft, and aborts.
[[noreturn]] void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept;

/// Returns the allocator of this scheduler.
inline Memory MemoryOf(const TaskScheduler &scheduler) noexcept {
    return Memory(EntryGate::OptionsOf(scheduler).memory);
}

/// ReportMistake for a part of weft that has no scheduler, only the options onReport and user.
void ReportTo(void (*onReport)(const Report &report, void *user), void *user, ReportCode code,
              const char *hint, const char *what, ...) noexcept WEFT_PRINTF_LIKE(5, 6);

}  // namespace weft::internal
