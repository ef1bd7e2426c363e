// What the parts above the scheduler (sync, post, blocking, frame) may use of it beyond its public
// interface.
#pragma once

#include "platform/memory.h"
#include "scheduler/state/api_checks.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/submit.h"

#include <optional>

namespace weft::internal {

/// While it lives the scheduler runs. Not beyond a call by which the task may move to another
/// worker. AddTasks and DecrementCounter tell the two apart themselves: by this class 64 tasks cost
/// 5 % more, a hand-over 3 % (rows bulk_64 and hand_over of bench, both versions in turn, medians
/// of 250 rounds).
class Caller {
public:
    Caller(TaskScheduler &taskScheduler, const char *call) noexcept
        : m_call(call), m_worker(WorkerOf(taskScheduler)) {
        m_scheduler = m_worker != nullptr ? m_worker->scheduler
                                          : m_external.emplace(taskScheduler, call).running;
    }

    /// Null for a thread that is no worker of this scheduler.
    Worker *TheWorker() const noexcept { return m_worker; }
    /// Null if it does not run here, and that was reported: then none of the calls below may
    /// follow.
    Scheduler *Running() const noexcept { return m_scheduler; }

    /// False after a report.
    bool MaySubmit() const noexcept {
        return m_scheduler != nullptr &&
               (m_worker != nullptr ? internal::MaySubmit(m_worker, m_call)
                                    : m_external->MayEnter(m_call));
    }

    /// False if they were refused, which was reported.
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options) const noexcept {
        if (!MaySubmit() || !AreTasks(*m_scheduler, count, tasks, options, m_call)) return false;
        if (WEFT_LIKELY(m_worker != nullptr))
            return internal::Submit(m_worker, count, tasks, nullptr, options);
        return Post(*m_scheduler, nullptr, count, tasks, nullptr, options);
    }

    /// False if it was refused, which was reported.
    bool Lower(Counter &counter) const noexcept {
        if (m_worker != nullptr) FlushPending(m_worker);
        return LowerCounter(*m_scheduler, m_worker, counter, 1);
    }

private:
    const char *const m_call;
    Worker *const m_worker;
    std::optional<ExternalCall> m_external;
    Scheduler *m_scheduler;
};

/// Lowers a counter of weft's own for which somebody waits. Returns false if the run has ended
/// (reported).
///
/// In one of the host's memory functions that is reported, too, and then done as by an external
/// thread. It takes no memory. The waiter keeps the run from ending until it is notified, so the
/// gate is not asked but only held open.
bool LowerForWaiter(TaskScheduler &taskScheduler, Counter &counter, const char *call) noexcept;

/// True for a task of this scheduler and a thread that is attached to it. False in one of the
/// host's memory functions.
bool IsTaskOf(const TaskScheduler &scheduler) noexcept;

/// The same for a call that makes its caller wait: false, too, for a hook of any kind (reported).
bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept;

/// There is no memory for a part of weft: reports, then aborts.
[[noreturn]] void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept;

/// Where this scheduler's memory comes from.
Memory MemoryOf(const TaskScheduler &scheduler) noexcept;

/// ReportMistake for a part that has no scheduler, but was given these two of its options.
void ReportTo(void (*onReport)(const Report &report, void *user), void *user, ReportCode code,
              const char *hint, const char *what, ...) noexcept WEFT_PRINTF_LIKE(5, 6);

}  // namespace weft::internal
