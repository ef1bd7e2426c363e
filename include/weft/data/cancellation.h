// Cancellation of tasks, waits and loops whose result is not needed any more.
//
//     weft::CancelSource source(*scheduler);
//     weft::LoopOptions options;
//     options.cancel = source.Token();
//     auto look = [&](uint32_t i) { if (Fits(i)) source.Cancel(); };
//     weft::ParallelFor(*scheduler, 0, count, look, options);
//
//     // false: cancelled first
//     if (!weft::WaitForCounterOrCancel(*scheduler, &loaded, source.Token())) return;
//
// Running tasks are not interrupted: a task has to check its token now and then.
#pragma once

#include "weft/task_scheduler.h"
#include "weft/time.h"

namespace weft {

class CancelSource;

namespace internal {
struct TaskGroupAccess;
}

/// A copyable reference to a CancelSource, for code that can be cancelled. The source must outlive
/// it. A token without a source is never cancelled.
class CancelToken {
public:
    constexpr CancelToken() noexcept = default;

    /// Returns true if Cancel has been called. Then everything that was written before that call is
    /// visible. Costs one load. Thread-safe.
    bool IsCancelled() const noexcept;

private:
    friend class CancelSource;
    friend bool WaitForCounterOrCancel(TaskScheduler &scheduler, Counter *counter,
                                       CancelToken token, Clock::time_point deadline) noexcept;
    friend bool SleepUntilOrCancel(TaskScheduler &scheduler, Clock::time_point deadline,
                                   CancelToken token) noexcept;
    explicit constexpr CancelToken(CancelSource *source) noexcept : m_source(source) {}

    CancelSource *m_source = nullptr;
};

/// The source of a cancellation. It can be cancelled once, and not be reset. It must outlive its
/// tokens, all waits with them, and all calls of Cancel.
class CancelSource {
public:
    /// Makes a source that is not cancelled. Cannot fail. Waits with its tokens use `scheduler`,
    /// which must outlive the source and need not run yet.
    explicit CancelSource(TaskScheduler &scheduler) noexcept : m_scheduler(&scheduler) {}
    CancelSource(const CancelSource &) = delete;
    CancelSource &operator=(const CancelSource &) = delete;

    /// Cancels all tokens. Later calls have no effect. Does not wait and does not run other tasks.
    ///
    /// While the scheduler does not run, it cancels the tokens, too, and reports NotRunning. In a
    /// memory hook it reports InHook and has no effect. Thread-safe.
    void Cancel() noexcept {
        if (!internal::MayCall(*m_scheduler, "CancelSource::Cancel")) return;
        // The flag comes before the counter: a waiter that the counter wakes sees its token
        // cancelled.
        // acq_rel: as a release, it publishes what was written before this call to each reader of
        // the flag. As an acquire, a later caller of Cancel sees what came before the first call.
        if (!m_isCancelled.exchange(true, std::memory_order_acq_rel))
            m_scheduler->DecrementCounter(&m_running);
    }

    /// Returns true if Cancel has been called, as CancelToken::IsCancelled.
    bool IsCancelled() const noexcept {
        // acquire: pairs with the exchange in Cancel; what was written before Cancel is visible.
        return m_isCancelled.load(std::memory_order_acquire);
    }

    /// Returns a token of this source. Thread-safe.
    CancelToken Token() noexcept { return CancelToken(this); }

private:
    friend struct internal::TaskGroupAccess;
    friend bool WaitForCounterOrCancel(TaskScheduler &scheduler, Counter *counter,
                                       CancelToken token, Clock::time_point deadline) noexcept;
    friend bool SleepUntilOrCancel(TaskScheduler &scheduler, Clock::time_point deadline,
                                   CancelToken token) noexcept;

    TaskScheduler *const m_scheduler;
    Counter m_running{1};  // for waits; zero once it is cancelled
    WEFT_ATOMIC<bool> m_isCancelled{false};
};

inline bool CancelToken::IsCancelled() const noexcept {
    return m_source != nullptr && m_source->IsCancelled();
}

/// Waits until the counter is zero, the token is cancelled, or the deadline passes.
///
/// `scheduler` must be the scheduler of the token's source. The counter must outlive the call, even
/// if the token is cancelled: the tasks that it counts go on.
/// Returns true if the counter reached zero, even if the token was cancelled or the deadline passed
/// too. Then everything that the counted tasks wrote is visible. Returns false otherwise, and after
/// a report. Thread-safe. An external thread blocks in the operating system.
inline bool WaitForCounterOrCancel(TaskScheduler &scheduler, Counter *counter, CancelToken token,
                                   Clock::time_point deadline = Clock::time_point::max()) noexcept {
    // A source that was cancelled while the scheduler did not run still has its counter at one, so
    // the token is checked first. For a null counter PollCounter reports, and returns true.
    if (token.IsCancelled()) {
        internal::NoteWait(scheduler, "WaitForCounterOrCancel");
        return scheduler.PollCounter(counter) && counter != nullptr;
    }
    Counter *const counters[2] = {counter,
                                  token.m_source != nullptr ? &token.m_source->m_running : nullptr};
    const uint32_t count = token.m_source != nullptr ? 2 : 1;
    const uint32_t first = WaitForAnyUntil(scheduler, count, counters, deadline);
    return first == 0 || (first < count && scheduler.PollCounter(counter));
}

/// Waits until `deadline`, or until the token is cancelled.
///
/// `scheduler` must be the scheduler of the token's source. Returns true at the deadline or later.
/// Returns false at once if the token is cancelled before the deadline, if it is cancelled already
/// when the call begins, and after a report. Thread-safe. An external thread blocks in the
/// operating system.
///
/// Cost, also of WaitForCounterOrCancel: the end of a call takes time in proportion to the number
/// of waits with the same token at that moment.
inline bool SleepUntilOrCancel(TaskScheduler &scheduler, Clock::time_point deadline,
                               CancelToken token) noexcept {
    const bool isCancelled = token.IsCancelled();
    if (isCancelled || Now() >= deadline) {
        internal::NoteWait(scheduler, "SleepUntilOrCancel");
        return !isCancelled;
    }
    if (token.m_source == nullptr) {
        SleepUntil(scheduler, deadline);
        return Now() >= deadline;  // a refused call returns before the deadline
    }
    return !WaitForCounterUntil(scheduler, &token.m_source->m_running, deadline) &&
           Now() >= deadline;
}

}  // namespace weft
