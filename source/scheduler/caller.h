// Who calls: a worker of the scheduler's, or another thread; and what both may do.
#pragma once

#include "scheduler/call.h"
#include "scheduler/claim.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/submit.h"

#include <optional>

namespace weft::internal {

/// While it lives the scheduler runs. Not beyond a call by which the task may move to another
/// worker. AddTasks and DecrementCounter tell the two apart themselves: by this class 64 tasks cost
/// 5 % more, a hand-over 3 % (rows bulk_64 and hand_over of bench, both versions in turn, medians
/// of 250 rounds).
class Caller {
public:
    Caller(TaskScheduler &facade, const char *call) noexcept
        : m_call(call), m_worker(WorkerOf(facade)) {
        m_scheduler =
            m_worker != nullptr ? m_worker->scheduler : m_foreign.emplace(facade, call).running;
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
                                    : m_foreign->MayEnter(m_call));
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
    std::optional<ForeignCall> m_foreign;
    Scheduler *m_scheduler;
};

/// Lowers a counter of weft's own for which somebody waits. False if the run has ended, which was
/// reported.
///
/// In one of the host's memory functions that is reported, too, and then done as by a thread that
/// is no worker: whatever this thread is in the middle of, others do that at any time. It takes no
/// memory. Who waits keeps the run from ending until it is told, so the gate is not asked but only
/// held open.
inline bool LowerForWaiter(TaskScheduler &facade, Counter &counter, const char *call) noexcept {
    const Caller caller(facade, call);
    if (WEFT_LIKELY(caller.Running() != nullptr)) return caller.Lower(counter);
    if (MemoryHookCall::Current() == nullptr) return false;
    Gate::Visit visit(facade);
    visit.ComeBack();
    Scheduler *const running = visit.Running();
    const bool isLowered = running != nullptr && LowerCounter(*running, nullptr, counter, 1);
    visit.GoOut();
    return isLowered;
}

}  // namespace weft::internal
