#include "scheduler/rescue.h"

#include "scheduler/claim.h"
#include "scheduler/find_work.h"
#include "scheduler/ready.h"

#include <algorithm>

namespace weft::internal {

namespace {

// What is looked for: a fiber that waits for zero and has room for a task of the class, and that the worker itself may go on with. One
// that only others may go on with could be late, as they may be busy until the task has run: they are woken to look for themselves.
struct Wanted {
    const Worker &worker;
    StackClass stack;
    uint32_t pinnedTo = kAnyWorker;  // of one that was passed over
    bool low = false;

    bool Takes(uint32_t owner) noexcept {
        const Scheduler &scheduler = *worker.scheduler;
        if (owner >= scheduler.FiberCount()) return false;
        const Fiber &fiber = scheduler.fibers[owner];
        if (fiber.handed == nullptr || stack > fiber.takes) return false;
        const bool isPinned = fiber.pinnedTo != kAnyWorker;
        if (isPinned && fiber.pinnedTo != worker.index && scheduler.IsActive(fiber.pinnedTo)) {
            pinnedTo = fiber.pinnedTo;
        } else if (!isPinned && fiber.priority == Priority::Low && !scheduler.RunsLow(worker.index)) {
            low = true;
        } else {
            return true;
        }
        return false;
    }
};

// Takes such a fiber off the counter. It stays in line while it is asked, so it does not run.
Fiber *TakeWaiter(Worker *worker, Counter &counter, StackClass stack) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Wanted wanted{*worker, stack};
    const auto takes = [](uint32_t owner, void *by) { return static_cast<Wanted *>(by)->Takes(owner); };
    uint32_t woken = 0;
    const uint32_t owner = scheduler.counters.RemoveIf(CounterAccess::Word(counter), {takes, &wanted}, woken);
    WakeOwners(scheduler, worker, woken);
    if (owner != CounterWaiting::kNobody) return &scheduler.fibers[owner];
    if (wanted.pinnedTo != kAnyWorker) WakeAt(scheduler, wanted.pinnedTo);
    if (wanted.low) WakeForLow(scheduler, worker, 1);
    return nullptr;
}

// `item` is the caller's. The fiber that it was handed to; null, and it still is the caller's, if there is none.
Fiber *HandTo(Worker *worker, const TaskEntry &item) noexcept {
    Counter *counter = item.TheCounter();
    if (counter == nullptr) return nullptr;
    // seq_cst: after the worker has read the count of rescues. A record that is not seen here is counted after that.
    const CounterWord word{CounterAccess::Word(*counter).load(kSeqCst)};
    if (word.Head() == 0 && !word.IsSorting()) return nullptr;
    Fiber *waiter = TakeWaiter(worker, *counter, item.Stack());
    if (waiter == nullptr) return nullptr;
    *waiter->handed = item;  // published with the fiber
    waiter->handed = nullptr;
    return waiter;
}

bool Hand(Worker *worker, const TaskEntry &item) noexcept {
    Fiber *waiter = HandTo(worker, item);
    if (waiter != nullptr) MakeReady(*worker->scheduler, worker, waiter);
    return waiter != nullptr;
}

// From the oldest end, each once; what nobody takes becomes the newest of the worker's own lane. So its own lane has its order again in
// the end, if nobody took any.
bool GoThrough(Worker *worker, Worker &owner, uint32_t lane, uint64_t most) noexcept {
    TaskEntry item;
    for (uint64_t left = std::min(owner.lanes[lane].Size(), most); left != 0; --left) {
        StealResult result;
        do {
            result = owner.lanes[lane].Steal(item);
        } while (result == StealResult::Lost);
        if (result == StealResult::Empty) return false;
        if (Hand(worker, item)) return true;
        PushEntry(worker, lane, item);
    }
    return false;
}

// The newest of the worker's own comes first: of a batch that is the first task that has not begun.
bool HandNewest(Worker *worker, uint32_t lane) noexcept {
    TaskEntry item;
    if (!worker->lanes[lane].Pop(item)) return false;
    if (Hand(worker, item)) return true;
    PushEntry(worker, lane, item);
    return false;
}

// A worker that does not go through its own lanes: it is inactive, or its thread has detached.
bool IsAway(const Scheduler &scheduler, uint32_t index) noexcept {
    return !scheduler.IsActive(index) ||
           (scheduler.IsAttachedSlot(index) && scheduler.freeSlots.Test(index - scheduler.workerCount));
}

// Of another worker's lane. Small tasks of a worker that may come back to them keep their order, see worker_loop.h: so only the oldest
// one is looked at, and only if it does not come to lie above others here. That worker may be busy until the task has run.
uint64_t HowMany(const Worker &worker, uint32_t other, uint32_t lane) noexcept {
    if (ClassOf(lane) == StackClass::Large || IsAway(*worker.scheduler, other)) return ~uint64_t{0};
    return worker.lanes[lane].LooksEmpty() ? 1 : 0;
}

}  // namespace

bool Rescue(Worker *worker, StackClass stack) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (stack == StackClass::Small) {
        const uint64_t suspensions = worker->suspensions.load(kRelaxed);  // the owner's own
        if (!worker->hasNewTasks && suspensions == worker->rescuedAt && IsRescueDone(worker, stack)) return false;
        worker->hasNewTasks = false;
        worker->rescuedAt = suspensions;
    }
    worker->rescuesSeen[static_cast<uint32_t>(stack)] = scheduler.rescues.load(kSeqCst);  // [order]
    const uint32_t slots = scheduler.Slots();
    const uint32_t priorities =
        scheduler.LimitsLow() ? kPriorities - 1 : kPriorities;  // not to those that must not run them
    for (uint32_t priority = 0; priority < priorities; ++priority) {
        const uint32_t lane = LaneOf(static_cast<Priority>(priority), stack);
        if (HandNewest(worker, lane)) return true;
        for (uint32_t i = 0; i < slots; ++i) {
            if (i == worker->index) continue;
            const uint64_t most = HowMany(*worker, i, lane);
            if (most != 0 && GoThrough(worker, scheduler.workers[i], lane, most)) return true;
        }
        if (GoThrough(worker, *worker, lane, ~uint64_t{0})) return true;
    }
    return false;
}

Fiber *HandOldest(Worker *worker, Worker &owner, uint32_t lane) noexcept {
    TaskEntry item;
    if (owner.lanes[lane].Steal(item) != StealResult::Taken) return nullptr;
    Fiber *waiter = HandTo(worker, item);
    if (waiter == nullptr) {
        PushEntry(worker, lane, item);
    } else if (waiter->pinnedTo != kAnyWorker && waiter->pinnedTo != worker->index) {
        MakeReady(*worker->scheduler, worker, waiter);
        return nullptr;
    }
    return waiter;
}

bool IsRescueDone(const Worker *worker, StackClass stack) noexcept {
    return worker->scheduler->rescues.load(kSeqCst) == worker->rescuesSeen[static_cast<uint32_t>(stack)];
}

void OfferRoom(Worker *worker, StackClass takes) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool lacksSmall = !scheduler.pool.AnyFree(StackClass::Small);
    const bool lacksLarge = takes == StackClass::Large && !scheduler.pool.AnyFree(StackClass::Large);
    if (WEFT_LIKELY(!lacksSmall && !lacksLarge)) return;
    scheduler.rescues.fetch_add(1, kSeqCst);
    if (scheduler.idle.Wanted(~0u)) WakeEverySleeper(scheduler);
}

}  // namespace weft::internal
