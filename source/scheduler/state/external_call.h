// Calls by external threads.
#pragma once

#include "platform/compiler.h"
#include "platform/memory_hook.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

inline void ReportNotRunning(const TaskScheduler &taskScheduler, const char *call) noexcept {
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NotRunning,
                  "Call it while Run runs, or between Start and Stop.",
                  "%s was called while the scheduler does not run", call);
}

// A call by a thread that is no worker: for its duration the scheduler exists. The thread knows
// those that it is in, because it reports outside of the gate: onReport may take a lock whose
// holder waits at the gate, or call weft and wait there itself, and who closes the gate waits until
// nobody is inside. For that reason a memory function does not come to the gate: it may be called
// by who is inside.
class ExternalCall {
public:
    ExternalCall(TaskScheduler &taskScheduler, const char *call) noexcept
        : visit(taskScheduler),
          running(WEFT_LIKELY(MemoryHookCall::Current() == nullptr) ? visit.ComeIn() : nullptr),
          m_outer(env::ExchangeCallSlot(this)) {
        if (WEFT_UNLIKELY(m_outer == InReport())) env::ExchangeCallSlot(m_outer);
        if (WEFT_UNLIKELY(running == nullptr || running->forkMark.IsForked()))
            Refuse(taskScheduler, call);
    }
    ~ExternalCall() {
        if (WEFT_LIKELY(running != nullptr)) visit.GoOut();
        env::ExchangeCallSlot(m_outer);
    }
    ExternalCall(const ExternalCall &) = delete;
    ExternalCall &operator=(const ExternalCall &) = delete;

    /// Whether it runs, and threads that are no workers may still submit and wait: for a while
    /// after its end was wanted they may not any more, or a thread that comes again and again would
    /// keep it from ending. False after a report.
    bool MayEnter(const char *call) const noexcept {
        return running != nullptr &&
               (WEFT_LIKELY(!running->endWanted.load(kRelaxed)) || IsOpen(call));
    }

    /// Goes out of the gate until Return. As a guest, so that the scheduler stays.
    void Leave() noexcept;
    void Return() noexcept;
    /// The one in which this one was made, or null.
    ExternalCall *Outer() const noexcept { return static_cast<ExternalCall *>(m_outer); }

    EntryGate::Visit visit;
    // null: it does not run here, that was reported, and the call is out of the gate
    Scheduler *running;

private:
    WEFT_NOINLINE void Refuse(TaskScheduler &taskScheduler, const char *call) noexcept {
        if (IsRefusedInMemoryHook(EntryGate::OptionsOf(taskScheduler), call)) return;
        const bool isForked = running != nullptr;
        running = nullptr;
        visit.GoOut();
        isForked ? ReportForked(EntryGate::OptionsOf(taskScheduler), call)
                 : ReportNotRunning(taskScheduler, call);
    }

    // relaxed, as above: the end was wanted before; who learns of it later is refused later.
    WEFT_NOINLINE bool IsOpen(const char *call) const noexcept {
        if (env::Now() < running->closesAt.load(kRelaxed)) return true;
        ReportOnce(
            *running, ReportCode::RunEnding,
            "End the thread's work before Stop is called, or raise stopGraceMilliseconds.",
            "%s was called by a thread that is no worker, while the run was ending; it is refused",
            call);
        return false;
    }

    void *const m_outer;
};

}  // namespace weft::internal
