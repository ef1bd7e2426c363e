#include "scheduler/find/rescue.h"

#include "scheduler/state/groups.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/publish.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

namespace {

// Workers that may resume a waiter that this worker must not resume.
struct Others {
    uint32_t pinnedTo = kAnyWorker;  // this one
    Level level = Level::None();     // and those that run this level
};

// What is looked for: a fiber that waits for zero and has room for a task of the class, and that
// the worker itself may go on with. One that only others may go on with could be late, as they may
// be busy until the task has run: they are asked to look for themselves.
struct Wanted {
    Worker &worker;
    StackClass stack;
    Level level;  // of the task
    Others others = {};
    // it waits with a deadline: its record stays on the counter
    uint32_t timed = CounterWaiting::kNobody;

    bool Takes(uint32_t owner) noexcept {
        Scheduler &scheduler = *worker.scheduler;
        if (timed != CounterWaiting::kNobody) return false;
        if (Counter *gate = DoneCounterOfOne(scheduler, owner)) {
            timed = RemoveFrom(*gate);
            return false;
        }
        if (owner >= scheduler.FiberCount()) return false;
        const Fiber &fiber = scheduler.fibers[owner];
        if (fiber.handed == nullptr || stack > fiber.takes) return false;
        const bool isPinned = fiber.pinnedTo != kAnyWorker;
        const Level onTop = LevelOnTop(scheduler, fiber.level, level);
        if (onTop.IsNone()) return false;
        if (isPinned && !Runs(scheduler.workers[fiber.pinnedTo], level)) return false;
        if (isPinned && fiber.pinnedTo != worker.index && scheduler.IsActive(fiber.pinnedTo)) {
            others.pinnedTo = fiber.pinnedTo;
        } else if (fiber.pinnedTo == worker.index &&
                   !MayRunInlineAt(worker, fiber.level.ThePriority())) {
            return false;
        } else if (!isPinned && !MayRun(worker, onTop)) {
            others.level = onTop;
        } else {
            return true;
        }
        return false;
    }

    // Such a fiber, taken off the counter. It stays in line while it is asked, so it does not run.
    uint32_t RemoveFrom(Counter &counter) noexcept {
        Scheduler &scheduler = *worker.scheduler;
        const auto takes = [](uint32_t owner, void *by) {
            return static_cast<Wanted *>(by)->Takes(owner);
        };
        uint32_t woken = 0;
        const uint32_t owner = scheduler.counters.RemoveIf(CounterAccess::Word(counter),
                                                           {takes, this}, woken, CacheOf(&worker));
        WakeOwners(scheduler, &worker, woken);
        return owner;
    }
};

Fiber *TakeWaiter(Counter &counter, Wanted &wanted) noexcept {
    uint32_t owner = wanted.RemoveFrom(counter);
    if (owner == CounterWaiting::kNobody) owner = wanted.timed;
    return owner != CounterWaiting::kNobody ? &wanted.worker.scheduler->fibers[owner] : nullptr;
}

// Call it when the task is in a lane again.
void AskPassedOver(Worker *worker, StackClass stack, const Others &others) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (others.pinnedTo != kAnyWorker) {
        Ask(scheduler.workers[others.pinnedTo], stack);
        WakeAt(scheduler, others.pinnedTo);
    }
    if (others.level.IsNone()) return;
    // If only a wait keeps this worker from it, other workers of the groups may be restricted, too.
    // They would ask each other for ever.
    if (!Runs(*worker, others.level)) AskGroups(scheduler, worker, stack, others.level);
    WakeForGroups(scheduler, worker, 1, others.level);
}

// A worker with a small fiber that looked meanwhile may sleep now. For Large tasks there is no
// fiber: two workers would wake each other again and again.
void PushBack(Worker *worker, uint32_t lane, const TaskEntry &item) noexcept {
    PushEntry(worker, lane, item);
    if (ClassOf(lane) == StackClass::Small)
        WakeForLevel(*worker->scheduler, worker, 1, LevelOf(lane));  // [re-check]
}

// `item` is the caller's. The fiber that its first task was handed to; the rest becomes the newest
// of the worker's own lane, and does not go to where the fiber goes on. Null, and the item still is
// the caller's, if there is none.
Fiber *HandTo(Worker *worker, const TaskEntry &item, uint32_t lane, Others &others) noexcept {
    Counter *counter = item.TheCounter();
    if (counter == nullptr) return nullptr;
    // seq_cst: after the worker has read the count of rescues. A record that is not seen here is
    // counted after that.
    const CounterWord word{CounterAccess::Word(*counter).load(kSeqCst)};
    if (word.Head() == 0 && !word.IsSorting()) return nullptr;
    Wanted wanted{*worker, ClassOf(lane), LevelOf(lane)};
    Fiber *waiter = TakeWaiter(*counter, wanted);
    others = wanted.others;
    if (waiter == nullptr) return nullptr;
    *waiter->handed = item.Part(0, 1);  // published with the fiber
    // there is one: it was asked
    waiter->level = LevelOnTop(*worker->scheduler, waiter->level, LevelOf(lane));
    if (item.Count() > 1) PushBack(worker, lane, item.Part(1, item.Count() - 1));
    waiter->handed = nullptr;
    waiter->carries = counter;
    return waiter;
}

constexpr uint32_t kInHand = 64;  // a batch has fewer slices

// Of the worker's own lane, from the newest end: what nobody takes goes back to its place.
Fiber *HandOwn(Worker *worker, uint32_t lane) noexcept {
    TaskEntry inHand[kInHand];
    Others others[kInHand];
    uint32_t count = 0;
    Fiber *waiter = nullptr;
    while (waiter == nullptr && count < kInHand && worker->lanes[lane].Pop(inHand[count])) {
        waiter = HandTo(worker, inHand[count], lane, others[count]);
        if (waiter == nullptr) ++count;
    }
    for (uint32_t i = count; i != 0; --i) PushBack(worker, lane, inHand[i - 1]);
    for (uint32_t i = 0; i < count; ++i) AskPassedOver(worker, ClassOf(lane), others[i]);
    return waiter;
}

Fiber *HandOldest(Worker *worker, Worker &owner, uint32_t lane) noexcept {
    TaskEntry item;
    if (!owner.lanes[lane].TakeOldest(item)) return nullptr;
    Others others;
    Fiber *waiter = HandTo(worker, item, lane, others);
    if (waiter != nullptr) return waiter;
    PushBack(worker, lane, item);
    AskPassedOver(worker, ClassOf(lane), others);
    return nullptr;
}

// From the oldest end, each once; what nobody takes becomes the newest of the worker's own lane.
Fiber *HandAny(Worker *worker, Worker &owner, uint32_t lane) noexcept {
    Fiber *waiter = nullptr;
    for (uint64_t left = owner.lanes[lane].Size(); left != 0 && waiter == nullptr; --left)
        waiter = HandOldest(worker, owner, lane);
    return waiter;
}

// Returns the fiber if this worker may resume it. The worker then has to resume it next: perhaps no
// other worker may.
Fiber *OwnOrMakeReady(Worker *worker, Fiber *waiter) noexcept {
    if (waiter == nullptr || waiter->pinnedTo == kAnyWorker || waiter->pinnedTo == worker->index)
        return waiter;
    MakeReady(*worker->scheduler, worker, waiter);
    return nullptr;
}

}  // namespace

Fiber *Rescue(Worker *worker, StackClass stack) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // seq_cst, both: before the looks into the lanes and at the waiters.
    worker->rescuesSeen[static_cast<uint32_t>(stack)] = scheduler.rescues.load(kSeqCst);
    worker->rescuesAsked.fetch_and(~(1u << static_cast<uint32_t>(stack)), kSeqCst);
    const uint32_t slots = scheduler.Slots();
    const uint32_t levels = scheduler.Levels();
    for (uint32_t level = 0; level < levels; ++level) {
        if (!Runs(*worker, LevelAt(level))) continue;
        const uint32_t lane = LaneOf(LevelAt(level), stack);
        Fiber *waiter = HandOwn(worker, lane);
        for (uint32_t i = 0; i < slots && waiter == nullptr; ++i) {
            if (i != worker->index) waiter = HandAny(worker, scheduler.workers[i], lane);
        }
        if (waiter == nullptr && worker->lanes[lane].Size() > kInHand)
            waiter = HandAny(worker, *worker, lane);
        waiter = OwnOrMakeReady(worker, waiter);
        if (waiter != nullptr) return waiter;
    }
    return nullptr;
}

Fiber *HandLate(Worker *worker, Worker &owner, uint32_t lane) noexcept {
    Fiber *waiter = &owner == worker ? HandOwn(worker, lane) : HandOldest(worker, owner, lane);
    return OwnOrMakeReady(worker, waiter);
}

bool IsRescueDone(const Worker *worker, StackClass stack) noexcept {
    const uint32_t i = static_cast<uint32_t>(stack);
    return worker->scheduler->rescues.load(kSeqCst) == worker->rescuesSeen[i] &&
           (worker->rescuesAsked.load(kSeqCst) >> i & 1) == 0;
}

void OfferRoomNow(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    scheduler.rescues.fetch_add(1, kSeqCst);
    if (scheduler.idle.Wanted(~0u)) WakeEverySleeper(scheduler);
}

}  // namespace weft::internal
