// Waits that block a thread: those of external threads, and those of workers with
// Meanwhile::Nothing.
//
// An external thread is a guest while it waits: it is outside of the gate, and the run does not end
// before it has come back.
#pragma once

#include "scheduler/state/entry_gate.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

void BecomeGuest(Scheduler &scheduler) noexcept;
void CeaseGuest(Scheduler &scheduler) noexcept;

/// Sleeps until the wait is over. Returns false after the deadline, or after a report. The caller
/// is inside the gate. Uses only the counter, the value and the deadline of `what`.
bool WaitExternal(EntryGate::Visit &visit, Scheduler &scheduler, const WaitFor &what) noexcept;

/// Sleeps until no thread is attached.
void AwaitDetached(Scheduler &scheduler) noexcept;

/// The caller of a wait: a task, or an external thread that is inside the gate.
struct WaitingCaller {
    Scheduler &scheduler;
    Fiber *self;              // the task's, or null
    EntryGate::Visit *visit;  // the thread's, or null

    /// Returns the task's worker, which may be another one after a wait; or null.
    Worker *TheWorker() const noexcept { return self != nullptr ? self->worker : nullptr; }
    bool Wait(const WaitFor &what) const noexcept {
        return self != nullptr ? internal::Wait(*self->worker, what)
                               : WaitExternal(*visit, scheduler, what);
    }
};

/// Waits until all other tasks have finished. Tasks that are in WaitIdle do not count.
void WaitIdle(const WaitingCaller &caller) noexcept;

/// Waits until one of several counters is zero (wait_any.cpp). Returns its index, or `count` at the
/// deadline or after a report.
uint32_t WaitAny(const WaitingCaller &caller, uint32_t count, Counter *const *counters,
                 uint64_t deadline) noexcept;
inline constexpr uint32_t kMaxOfAny = 4096;

}  // namespace weft::internal
