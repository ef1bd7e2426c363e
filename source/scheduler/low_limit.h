// How many workers may run Low tasks at once (SchedulerOptions::maxLowWorkers), so that streaming never fills the machine.
//
// A worker takes a permit before it takes Low work and gives it back when that is done. A Low task that waits gives its
// permit back too; its fiber needs a new one to go on, and is put aside if there is none. Permits are held by running
// tasks only, so one always comes back. Pinned tasks go on without asking, and are counted.
//
// Who gives a permit back looks afterwards for what may wait for it; who finds no permit has put its work where that look
// finds it, and sleeps only after looking at the permits once more. All of it is seq_cst, so one of the two sees the other.
#pragma once

#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// True if there is a permit, and it is the caller's; or if there is no limit.
inline bool TakeLowPermit(Scheduler &scheduler) noexcept {
    const uint32_t most = scheduler.options.maxLowWorkers;
    if (most == 0) return true;
    uint32_t running = scheduler.lowRunning.load(kSeqCst);
    while (running < most) {
        if (scheduler.lowRunning.compare_exchange_strong(running, running + 1, kSeqCst, kSeqCst)) return true;
    }
    return false;
}

inline bool AnyLowPermit(const Scheduler &scheduler) noexcept {
    return scheduler.options.maxLowWorkers == 0 || scheduler.lowRunning.load(kSeqCst) < scheduler.options.maxLowWorkers;
}

/// Gives one back, if there is a limit, and wakes for it. `worker`: the caller's.
void GiveLowPermit(Scheduler &scheduler, Worker *worker) noexcept;

/// MayResume for a fiber whose task needs a permit.
bool TakePermitOf(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept;

/// Before a ready fiber that was taken is switched to: false if it needs a permit and there is none; it is put aside then.
inline bool MayResume(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept {
    return WEFT_LIKELY(!fiber->holdsLow) || TakePermitOf(scheduler, worker, fiber);
}

}  // namespace weft::internal
