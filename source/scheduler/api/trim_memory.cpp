// Implements TrimMemory (weft/hooks.h).
//
// Only a worker itself may use its deque and its caches. So the call takes sleeping workers as a
// waker does, and wakes them when it is done. Meanwhile it may use what they own, and what the
// caller's worker owns. It frees rings only if it holds all workers and no other thread is
// attached. Then no thief is in the middle of a steal.
#include "platform/backoff.h"
#include "scheduler/api/internal_api.h"
#include "weft/hooks.h"

#include <utility>

namespace weft {

using namespace internal;

namespace {

constexpr uint64_t kLongestWait = 2'000'000;  // ns

// Takes the worker if it is about to park, or parked. Then it does nothing until its Unpark.
// TakeAt: of several threads one gets the sleeper, and sees what it did before. seq_cst, as its
// store.
bool TakeAsleep(Scheduler &scheduler, Worker &worker) noexcept {
    if (!worker.rest.isParked.load(kSeqCst) || !scheduler.idle.TakeAt(worker.index)) return false;
    if (worker.rest.isParked.load(kSeqCst)) return true;
    worker.parker.Unpark();  // it has slept again since the first look
    return false;
}

// Holds as many workers as it can. Returns true if no other thread may be in a call that steals.
bool HoldWorkers(Scheduler &scheduler, const Worker *caller) noexcept {
    const uint64_t end = env::Now() + kLongestWait;
    bool all;
    Backoff backoff;
    do {
        all = true;
        for (uint32_t i = 0; i < scheduler.Slots(); ++i) {
            Worker &worker = scheduler.workers[i];
            worker.isHeld = worker.isHeld || &worker == caller || TakeAsleep(scheduler, worker);
            all = all && (worker.isHeld || scheduler.IsAttachedSlot(i));
        }
        if (!all) backoff.Next();
    } while (!all && env::Now() < end);
    const bool isAttached = caller != nullptr && scheduler.IsAttachedSlot(caller->index);
    return all && scheduler.guests.attached.Value() == (isAttached ? 1u : 0u);
}

}  // namespace

void TrimMemory(TaskScheduler &taskScheduler) noexcept {
    const Caller caller(taskScheduler, "TrimMemory");
    if (caller.Running() == nullptr) return;
    Scheduler &scheduler = *caller.Running();
    const SpinLock::Held held(scheduler.trims);
    const bool noThief = HoldWorkers(scheduler, caller.TheWorker());
    for (uint32_t i = 0; i < scheduler.Slots(); ++i) {
        Worker &worker = scheduler.workers[i];
        if (!worker.isHeld) continue;
        scheduler.pools.ForTrimmed([&](auto &pool) { pool.Empty(i); });
        for (WorkStealingDeque<Entry> &queue : worker.queue) {
            if (noThief) queue.Trim();
        }
    }
    for (uint32_t i = 0; i < scheduler.Slots(); ++i) {
        Worker &worker = scheduler.workers[i];
        const bool wasHeld = std::exchange(worker.isHeld, false);
        if (wasHeld && &worker != caller.TheWorker()) worker.parker.Unpark();
    }
    scheduler.pools.ForTrimmed([](auto &pool) { pool.Trim(); });
    for (uint32_t i = 0; i < scheduler.fibers.count; ++i) {
        if (!scheduler.fibers.free.TakeAt(i)) continue;
        const Fiber &fiber = scheduler.fibers[i];
        if (char *const lowest = fiber.context.LowestByte()) ForgetPages(fiber.Bottom(), lowest);
        scheduler.fibers.free.GiveBack(i);
    }
}

}  // namespace weft
