// Implements ending.h, and PendingTasks.
#include "scheduler/run/ending.h"

#include "scheduler/state/entry_gate.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

namespace {

bool IsOver(const Scheduler &scheduler) noexcept {
    return scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) == 0 &&
           PendingTasks(scheduler) == 0;
}

}  // namespace

void SetEndTimer(Scheduler &scheduler, Worker *worker, uint64_t deadline) noexcept {
    scheduler.timers.SetIf(scheduler.lateEnd.timer, deadline, [] { return true; });
    scheduler.notices.Show(Notices::kTimed);
    KeepDeadline(scheduler, worker, deadline);
}

void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt) noexcept {
    const uint64_t grace = uint64_t{scheduler.options.stopGraceMilliseconds} * 1'000'000;
    const uint64_t now = env::Now(), closesAt = now + grace;
    scheduler.lateEnd.wantedAt = now;
    scheduler.lateEnd.withdrawsAt = withdrawsAt;
    scheduler.closesAt.store(closesAt, kRelaxed);  // published by the next store
    scheduler.endWanted.store(true, kSeqCst);
    // With an order, time passes as soon as nothing runs. So no task waits for a time for long.
    if (scheduler.order != nullptr) return;
    SetEndTimer(scheduler, worker, withdrawsAt != Timers::kNever ? withdrawsAt : closesAt);
}

bool EndRun(Scheduler &scheduler) noexcept {
    if (!IsOver(scheduler)) return false;
    if (!EntryGate::Close(*scheduler.taskScheduler, [&] { return IsOver(scheduler); }))
        return false;
    scheduler.stopping.store(true, kSeqCst);  // before any worker is woken
    Worker *const caller = CurrentWorker();
    WakeAll(scheduler, caller != nullptr && caller->scheduler == &scheduler ? caller : nullptr);
    return true;
}

// Sums up the ended tasks first, then the submitted ones.
//
// Suppose both sums are equal and a task T is unfinished. T is not among the ended tasks. Because
// the sums are equal, T's submission was not among the submissions that were read. T's submitter is
// not among the ended tasks either: reading its end (acquire) would have shown the submission. So
// the submitter is unfinished too, and its own submission was not read. The same holds for its
// submitter, and so on up to the main task. But the submission of the main task is always read: a
// contradiction.
//
// External threads submit without being tasks. A caller that relies on the sums reads them while
// the gate is closed and no thread is inside it, so that all submissions of external threads are
// read. Or it needs only "at some moment of my call".
uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t ended = 0, submitted = 0;
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) ended += scheduler.workers[i].ended.load(kAcquire);
    slots = scheduler.Slots();  // a thread may have attached since then
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.submittedOutside.load(kAcquire) - ended;
}

}  // namespace weft::internal
