// The caller of a public function: a worker or an external thread, and what it may do.
#pragma once

#include "platform/compiler.h"
#include "scheduler/api/api_checks.h"
#include "scheduler/state/external_call.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/external.h"

#include <new>

namespace weft::internal {

/// The thread that calls a public function: a worker, or an external thread inside the gate. While
/// this object exists, the scheduler runs. After a wait the task may run on another worker than
/// TheWorker().
class Caller {
public:
    WEFT_FORCEINLINE Caller(TaskScheduler &taskScheduler, const char *call) noexcept
        : m_call(call),
          m_worker(WorkerOf(taskScheduler)),
          m_scheduler(WEFT_LIKELY(m_worker != nullptr) ? m_worker->scheduler
                                                       : Enter(taskScheduler)) {}
    ~Caller() {
        if (WEFT_UNLIKELY(m_worker == nullptr)) m_external.~ExternalCall();
    }
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;

    /// Returns null for a thread that is no worker of this scheduler.
    Worker *TheWorker() const noexcept { return m_worker; }
    /// Returns null, after a report, if the scheduler does not run here. Then only MaySubmit and
    /// MayWait may be called.
    Scheduler *Running() const noexcept { return m_scheduler; }

    /// Returns false, after a report, if the caller must not submit.
    bool MaySubmit() const noexcept {
        return WEFT_LIKELY(m_worker != nullptr) ? internal::MaySubmit(m_worker, m_call)
                                                : m_external.MayEnter(m_call);
    }
    /// Submits tasks. Returns false after a report.
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options,
                Counter *counter = nullptr) const noexcept {
        return MaySubmit() && AreTasks(*m_scheduler, count, tasks, options, m_call) &&
               internal::Submit(*m_scheduler, m_worker, count, tasks, counter, options);
    }
    /// Returns false, after a report, if the scheduler refuses these options for tasks that must
    /// not be skipped.
    bool Accepts(const TaskOptions &options) const noexcept {
        return AreTasks(*m_scheduler, 0, nullptr, options, m_call) &&
               IsOfNoGroup(*m_scheduler, options, m_call);
    }

    /// Returns false, after a report, if the caller must not wait.
    bool MayWait() const noexcept {
        return WEFT_LIKELY(m_worker != nullptr) ? internal::MayWait(m_worker, m_call)
                                                : m_external.MayEnter(m_call);
    }
    WaitingCaller AsWaiting() noexcept {
        if (m_worker != nullptr) return {*m_scheduler, m_worker->current, nullptr};
        return {*m_scheduler, nullptr, &m_external.visit};
    }

    /// Raises the counter by `n`. Returns false after a report.
    bool Raise(Counter &counter, uint32_t n) const noexcept {
        if (m_worker != nullptr) Flush(*m_worker);
        Emit(*m_scheduler, m_worker, TraceKind::Increment, &counter, n);
        return RaiseNow(*m_scheduler, counter, n);
    }
    /// Lowers the counter by `n`. Returns false after a report.
    bool Lower(Counter &counter, uint32_t n = 1) const noexcept {
        if (m_worker != nullptr) Flush(*m_worker);
        return internal::Lower(*m_scheduler, m_worker, counter, n);
    }

private:
    WEFT_NOINLINE Scheduler *Enter(TaskScheduler &taskScheduler) noexcept {
        return (new (&m_external) ExternalCall(taskScheduler, m_call))->running;
    }

    const char *const m_call;
    Worker *const m_worker;
    Scheduler *const m_scheduler;
    union {
        ExternalCall m_external;  // if there is no worker
    };
};

/// Waits for the counter. Returns false at the deadline, or after a report.
inline bool WaitByCaller(TaskScheduler &scheduler, const char *call, Counter *counter,
                         uint32_t value, uint64_t deadline,
                         Meanwhile meanwhile = Meanwhile::AnyTask,
                         ResumeOn resume = ResumeOn::AnyWorker) noexcept {
    if (!IsCounter(scheduler, counter, call)) return false;
    const WaitFor what{*counter, value, deadline, resume, meanwhile};
    Worker *const worker = WorkerOf(scheduler);
    if (WEFT_LIKELY(worker != nullptr)) return MayWait(worker, call) && Wait(*worker, what);
    Caller caller(scheduler, call);
    return caller.MayWait() && caller.AsWaiting().Wait(what);
}

/// Waits for one of several counters. See WaitAny.
inline uint32_t WaitAnyByCaller(TaskScheduler &scheduler, const char *call, uint32_t count,
                                Counter *const *counters, uint64_t deadline) noexcept {
    if (!MayWaitForAny(scheduler, count, counters, call)) return count;
    Caller caller(scheduler, call);
    return caller.MayWait() ? WaitAny(caller.AsWaiting(), count, counters, deadline) : count;
}

/// Calls ask(scheduler) for a query about the running scheduler, or ask(nullptr) if it does not run
/// or the caller cannot know. Returns the result.
template <class Ask>
auto Query(const TaskScheduler &taskScheduler, Ask ask) noexcept {
    const Worker *worker = WorkerThatAsks(taskScheduler);
    if (worker != nullptr) return ask(static_cast<const Scheduler *>(worker->scheduler));
    // in a memory hook the thread may be inside the gate already
    if (MemoryHookCall::Current() != nullptr) return ask(static_cast<const Scheduler *>(nullptr));
    EntryGate::Visit visit(const_cast<TaskScheduler &>(taskScheduler));
    const auto result = ask(static_cast<const Scheduler *>(visit.ComeIn()));
    visit.GoOut();
    return result;
}

}  // namespace weft::internal
