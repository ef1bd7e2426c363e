// Calls by external threads: entering the gate, and refusing calls while no run is in progress.
#pragma once

#include "platform/compiler.h"
#include "platform/memory_hook.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

// Reports a call while the scheduler does not run.
inline void ReportNotRunning(const TaskScheduler &taskScheduler, const char *call) noexcept {
    ReportMistake(EntryGate::OptionsOf(taskScheduler), ReportCode::NotRunning,
                  "Call it while Run runs, or between Start and Stop.",
                  "%s was called while the scheduler does not run", call);
}

// A call by an external thread. While this object exists, the scheduler's memory stays valid.
//
// A thread must not be inside the gate during onReport. onReport may take a lock whose holder waits
// at the gate, or it may call weft and wait at the gate itself; but the thread that closes the gate
// waits until no thread is inside. So the thread keeps a list of the calls that it is in
// (env::CallSlot, Outer), and leaves all of them before it calls onReport. A memory hook does not
// go in at all, because the thread that runs the hook may already be inside.
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

    /// Returns true if the scheduler runs and external threads may still submit and wait. When the
    /// end of the run has been requested, they may do so for a limited time only
    /// (stopGraceMilliseconds). Otherwise a thread that calls again and again could keep the run
    /// from ending. Returns false after a report.
    bool MayEnter(const char *call) const noexcept {
        return running != nullptr &&
               (WEFT_LIKELY(!running->endWanted.load(kRelaxed)) || IsOpen(call));
    }

    /// Returns the call of this thread in which this call was made, or null.
    ExternalCall *Outer() const noexcept { return static_cast<ExternalCall *>(m_outer); }

    EntryGate::Visit visit;
    // null: the call was refused and reported, and the thread is not inside the gate
    Scheduler *running;

private:
    // Goes out of the gate if the thread is inside, and reports why the call is refused.
    WEFT_NOINLINE void Refuse(TaskScheduler &taskScheduler, const char *call) noexcept {
        if (IsRefusedInMemoryHook(EntryGate::OptionsOf(taskScheduler), call)) return;
        const bool isForked = running != nullptr;
        running = nullptr;
        visit.GoOut();
        isForked ? ReportForked(EntryGate::OptionsOf(taskScheduler), call)
                 : ReportNotRunning(taskScheduler, call);
    }

    // relaxed, like the load of endWanted: closesAt is written before endWanted. A thread that sees
    // these writes late is refused late.
    WEFT_NOINLINE bool IsOpen(const char *call) const noexcept {
        if (env::Now() < running->closesAt.load(kRelaxed)) return true;
        ReportOnce(*running, ReportCode::RunEnding,
                   "End the thread's work before Stop is called, or raise stopGraceMilliseconds.",
                   "%s was called by an external thread while the run was ending; it is refused",
                   call);
        return false;
    }

    void *const m_outer;
};

}  // namespace weft::internal
