// What the layers above the scheduler (sync, post, blocking, frame) may use of it, in addition to
// its public interface.
#pragma once

#include "platform/memory.h"
#include "scheduler/api/api_checks.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/state/held_locks.h"
#include "scheduler/state/order.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"

#include <optional>

namespace weft::internal {

/// The thread that calls a public function: a worker, or an external thread inside the gate. While
/// this object exists, the scheduler runs. Do not use it after a call in which the task may move to
/// another worker. The calls of TaskScheduler that tasks make most often use ByCaller instead.
class Caller {
public:
    Caller(TaskScheduler &taskScheduler, const char *call) noexcept
        : m_call(call), m_worker(WorkerOf(taskScheduler)) {
        m_scheduler = m_worker != nullptr ? m_worker->scheduler
                                          : m_external.emplace(taskScheduler, call).running;
    }

    /// Returns null for a thread that is no worker of this scheduler.
    Worker *TheWorker() const noexcept { return m_worker; }
    /// Returns null, after a report, if the scheduler does not run here. Then none of the functions
    /// below may be called.
    Scheduler *Running() const noexcept { return m_scheduler; }

    /// Returns false, after a report, if the caller must not submit.
    bool MaySubmit() const noexcept {
        return m_scheduler != nullptr &&
               (m_worker != nullptr ? internal::MaySubmit(m_worker, m_call)
                                    : m_external->MayEnter(m_call));
    }

    /// Submits tasks. Returns false after a report.
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options,
                Counter *counter = nullptr) const noexcept {
        if (!MaySubmit() || !AreTasks(*m_scheduler, count, tasks, options, m_call)) return false;
        return internal::Submit(*m_scheduler, m_worker, count, tasks, counter, options);
    }
    /// Returns false, after a report, if the scheduler refuses these options for tasks that must
    /// not be skipped.
    bool Accepts(const TaskOptions &options) const noexcept {
        return AreTasks(*m_scheduler, 0, nullptr, options, m_call) &&
               IsOfNoGroup(*m_scheduler, options, m_call);
    }

    /// Lowers the counter by 1. Returns false after a report.
    bool Lower(Counter &counter) const noexcept {
        if (m_worker != nullptr) Flush(*m_worker);
        return internal::Lower(*m_scheduler, m_worker, counter, 1);
    }

private:
    const char *const m_call;
    Worker *const m_worker;
    std::optional<ExternalCall> m_external;
    Scheduler *m_scheduler;
};

/// For a task that does several pieces of work, one after the other, in place of a task for each
/// piece (graph). The worker may change during a piece, but the fiber does not.
class PiecewiseTask {
public:
    explicit PiecewiseTask(const TaskScheduler &scheduler) noexcept
        : m_fiber(WorkerOf(scheduler)->current), m_level(m_fiber->level) {}

    /// Returns true if each piece must be a task of its own, so that the trace shows it.
    bool IsTraced() const noexcept { return internal::IsTraced(*m_fiber->worker->scheduler); }
    /// A piece begins. `name`: for reports, as TaskOptions::name.
    void Begin(const char *name) noexcept {
        m_fiber->name.store(name, kRelaxed);
        m_fiber->level = m_level;  // the piece before may have changed its priority
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
};

/// Lowers a counter of weft's own for which a task or a thread waits. Returns false, after a
/// report, if the run has ended.
///
/// In a memory hook the call is reported as well, and then done as by an external thread. It takes
/// no memory. The waiter keeps the run from ending until it is notified. So this call need not wait
/// at the gate; it only keeps the gate from closing.
bool LowerForWaiter(TaskScheduler &taskScheduler, Counter &counter, const char *call) noexcept;

/// Returns true for a task of this scheduler and for a thread that is attached to it. Returns false
/// in a memory hook.
bool IsTaskOf(const TaskScheduler &scheduler) noexcept;

/// The same for a call that makes its caller wait. Returns false, after a report, in a hook of any
/// kind.
bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept;

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

/// Returns SchedulerOptions::recorder, or null.
Recorder *RecorderOf(const TaskScheduler &scheduler) noexcept;

/// Reports that there is no memory for a part of weft, and aborts.
[[noreturn]] void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept;

/// Returns the allocator of this scheduler.
Memory MemoryOf(const TaskScheduler &scheduler) noexcept;

/// ReportMistake for a part of weft that has no scheduler, only the options onReport and user.
void ReportTo(void (*onReport)(const Report &report, void *user), void *user, ReportCode code,
              const char *hint, const char *what, ...) noexcept WEFT_PRINTF_LIKE(5, 6);

}  // namespace weft::internal
