// Telling tasks, waits and loops that nobody wants their result any more.
//
//     weft::CancelSource source(*scheduler);
//     weft::LoopOptions options;
//     options.cancel = source.Token();
//     weft::ParallelFor(*scheduler, 0, count, [&](uint32_t i) { if (Fits(i)) source.Cancel(); },
//     options);
//
//     if (!weft::WaitForCounterOrCancel(*scheduler, &loaded, source.Token())) return;      //
//     cancelled first
//
// Nothing is interrupted: a task that runs looks at its token, now and then.
#pragma once

#include "weft/task_scheduler.h"
#include "weft/time.h"

namespace weft {

class CancelSource;

/// What is handed to those who may be cancelled: a copyable reference to a source, which must
/// outlive it. One that is made without a source is never cancelled.
class CancelToken {
public:
    constexpr CancelToken() noexcept = default;

    /// Whether Cancel was called; then what was written before it is visible. One load. Any thread.
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

/// What is cancelled, once and for good. It must outlive its tokens, all waits with them, and calls
/// of Cancel.
class CancelSource {
public:
    /// Cannot fail. `scheduler`, by which is waited with its tokens, must outlive it, and need not
    /// run yet.
    explicit CancelSource(TaskScheduler &scheduler) noexcept : m_scheduler(&scheduler) {}
    CancelSource(const CancelSource &) = delete;
    CancelSource &operator=(const CancelSource &) = delete;

    /// From the second time on it does nothing. Never waits, never runs others. Any thread, while
    /// the scheduler runs; the tokens are cancelled otherwise, too, but it is reported
    /// (NotRunning). Not in a memory hook (reported, InHook; it has no effect).
    void Cancel() noexcept {
        if (!internal::MayCall(*m_scheduler, "CancelSource::Cancel")) return;
        // Before the counter: whoever is woken by that finds its token cancelled.
        // acq_rel: release for whoever sees the flag. Acquire: who comes second has its word that
        // the first was there.
        if (!m_isCancelled.exchange(true, std::memory_order_acq_rel))
            m_scheduler->DecrementCounter(&m_running);
    }

    /// As CancelToken::IsCancelled.
    bool IsCancelled() const noexcept {
        return m_isCancelled.load(std::memory_order_acquire);  // all that came before Cancel
    }

    CancelToken Token() noexcept { return CancelToken(this); }

private:
    friend bool WaitForCounterOrCancel(TaskScheduler &scheduler, Counter *counter,
                                       CancelToken token, Clock::time_point deadline) noexcept;
    friend bool SleepUntilOrCancel(TaskScheduler &scheduler, Clock::time_point deadline,
                                   CancelToken token) noexcept;

    TaskScheduler *const m_scheduler;
    Counter m_running{1};  // for those who wait; zero when cancelled
    WEFT_ATOMIC<bool> m_isCancelled{false};
};

inline bool CancelToken::IsCancelled() const noexcept {
    return m_source != nullptr && m_source->IsCancelled();
}

/// Returns true once the counter was at zero, with all that was counted visible, or false when the
/// token was cancelled, or the deadline came, and it was not. If both are so it is true. The
/// counter must outlive the call in any case; the tasks that it counts go on. False, too, after a
/// report. `scheduler` is the source's. Any thread; one that is no worker blocks in the operating
/// system.
inline bool WaitForCounterOrCancel(TaskScheduler &scheduler, Counter *counter, CancelToken token,
                                   Clock::time_point deadline = Clock::time_point::max()) noexcept {
    // If it was cancelled while nothing ran, the source's counter still stands at one. (Null is
    // reported, and answered as zero.)
    if (token.IsCancelled()) return scheduler.PollCounter(counter) && counter != nullptr;
    Counter *const counters[2] = {counter,
                                  token.m_source != nullptr ? &token.m_source->m_running : nullptr};
    const uint32_t count = token.m_source != nullptr ? 2 : 1;
    const uint32_t first = WaitForAnyUntil(scheduler, count, counters, deadline);
    return first == 0 || (first < count && scheduler.PollCounter(counter));
}

/// As SleepUntil, but returns false at once when the token is cancelled before the deadline. False
/// at once, too, after a report. `scheduler` is the source's. Any thread. The end of either call
/// takes time in proportion to those that wait with the same token then.
inline bool SleepUntilOrCancel(TaskScheduler &scheduler, Clock::time_point deadline,
                               CancelToken token) noexcept {
    if (token.IsCancelled()) return false;
    if (Now() >= deadline) return true;
    if (token.m_source == nullptr) {
        SleepUntil(scheduler, deadline);
        return Now() >= deadline;  // where that is refused it ends before
    }
    return !WaitForCounterUntil(scheduler, &token.m_source->m_running, deadline) &&
           Now() >= deadline;
}

}  // namespace weft
