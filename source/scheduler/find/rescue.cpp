// Implements rescue.h.
#include "scheduler/find/rescue.h"

#include "scheduler/find/serving.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

// The workers that must search for waiters which only they may continue.
struct Others {
    uint32_t pinnedTo = kAnyWorker;  // the worker to which one is pinned
    Level level = Level::None();     // the workers that run this level
    bool Any() const noexcept { return pinnedTo != kAnyWorker || !level.IsNone(); }
};

// Selects the waiter to hand a task to: a fiber that waits for zero, has room for a task of the
// class, and that this worker may continue. A waiter that only other workers may continue is not
// selected, because they may be busy until the task has run: they are asked to search themselves.
struct Wanted {
    Worker &worker;
    StackClass stack;
    Level level;  // of the task
    Others others = {};
    // The waiter, if it waits with a deadline. It waits for the counter of an AnyWait, so it is
    // removed from that counter, and its record stays on the task's counter.
    uint32_t timed = CounterWaiting::kNobody;
    // The counter of a task that waits for the present counter, but on a fiber that is not
    // suitable.
    Counter *above = nullptr;

    /// Returns true if this worker can hand the task to the owner of a record.
    bool Takes(uint32_t owner) noexcept {
        Scheduler &scheduler = *worker.scheduler;
        if (timed != CounterWaiting::kNobody) return false;
        if (Counter *gate = DoneCounterOfOne(scheduler, owner)) {
            Counter *const before = above;
            timed = RemoveFrom(*gate);
            above = before;  // no climb through a wait with a deadline: it may end meanwhile
            return false;
        }
        if (owner >= scheduler.FiberCount()) return false;
        const Fiber &fiber = scheduler.fibers[owner];
        if (IsSuitable(fiber)) return true;
        // relaxed, both: the fiber does not run, and its record was published after them
        if (above == nullptr && stack == StackClass::Small && fiber.waitTarget.load(kRelaxed) == 0)
            above = fiber.taskCounter.load(kRelaxed);
        return false;
    }

    bool IsSuitable(const Fiber &fiber) noexcept {
        const Scheduler &scheduler = *worker.scheduler;
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

    // Removes such a fiber from the counter's list and returns it, or kNobody. While it is asked
    // about, its record stays on the list, so the fiber does not run.
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

// Takes a waiter for the task off its counter. If none is suitable, goes on to the counter of a
// task that waits there, and so on. Returns null if no waiter is suitable, or if other workers must
// search first.
Fiber *TakeWaiter(Counter &counter, Wanted &wanted) noexcept {
    Scheduler &scheduler = *wanted.worker.scheduler;
    Counter *next = &counter;
    // The number of steps is limited, because counters may wait for each other in a circle.
    for (uint32_t left = scheduler.FiberCount(); next != nullptr && left != 0; --left) {
        // seq_cst: after the worker has read `rescues`. A record that is not seen here increments
        // `rescues` later.
        const CounterWord word{CounterAccess::Word(*next).load(kSeqCst)};
        if (word.Head() == 0 && !word.IsSorting()) return nullptr;
        uint32_t owner = wanted.RemoveFrom(*next);
        if (owner == CounterWaiting::kNobody) owner = wanted.timed;
        if (owner != CounterWaiting::kNobody) return &scheduler.fibers[owner];
        next = wanted.others.Any() ? nullptr : std::exchange(wanted.above, nullptr);
    }
    return nullptr;
}

// Asks the other workers to search for waiters that this worker passed over. Call it when the task
// is in a lane again.
void AskPassedOver(Worker *worker, StackClass stack, const Others &others) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (others.pinnedTo != kAnyWorker) {
        Ask(scheduler.workers[others.pinnedTo], stack);
        WakeAt(scheduler, worker, others.pinnedTo);
    }
    if (others.level.IsNone()) return;
    // If only a wait keeps this worker from the level, other workers of the groups may be
    // restricted, too. They would ask each other for ever.
    if (!Runs(*worker, others.level)) AskGroups(scheduler, worker, stack, others.level);
    WakeForGroups(scheduler, worker, 1, others.level);
}

// Puts an entry back into the worker's own lane. A worker with a small fiber that searched
// meanwhile may sleep now, so one is woken. No worker without a fiber, and none for Large tasks:
// two such workers would take the entry from each other and wake each other for ever.
void PushBack(Worker *worker, uint32_t lane, const TaskEntry &item) noexcept {
    PushEntry(worker, lane, item);
    if (ClassOf(lane) == StackClass::Small)
        WakeForEntry(*worker->scheduler, worker, LevelOf(lane));  // [re-check]
}

// Returns true if the worker's innermost wait depends on tasks of the counter, or if it does not
// wait with OwnTasks. The caller holds such a task.
bool IsOwn(Worker *worker, Counter *counter) noexcept {
    if (WEFT_LIKELY(worker->own == nullptr)) return true;
    const SpinLock::Held held(worker->scheduler->climbs);
    return Serving(worker).Needs(counter);
}

// Hands the first task of `item` to a waiter, and returns its fiber. The caller holds `item`. The
// rest of `item` becomes the newest entry of the worker's own lane; it does not follow the fiber.
// Returns null if no waiter fits: then the caller still holds `item`.
Fiber *HandTo(Worker *worker, const TaskEntry &item, uint32_t lane, Others &others) noexcept {
    Counter *counter = item.TheCounter();
    if (counter == nullptr || !IsOwn(worker, counter)) return nullptr;
    Wanted wanted{*worker, ClassOf(lane), LevelOf(lane)};
    Fiber *waiter = TakeWaiter(*counter, wanted);
    others = wanted.others;
    if (waiter == nullptr) return nullptr;
    *waiter->handed = item.Part(0, 1);  // published with the fiber
    // not Level::None(): Wanted::Takes has checked that
    waiter->level = LevelOnTop(*worker->scheduler, waiter->level, LevelOf(lane));
    if (item.Count() > 1) PushBack(worker, lane, item.Part(1, item.Count() - 1));
    waiter->handed = nullptr;
    waiter->carries = counter;
    return waiter;
}

// entries; Rescue goes through the rest of a longer lane with HandAny
constexpr uint32_t kInHand = 64;

// Tries the entries of the worker's own lane, the newest first. Entries that find no waiter go back
// to their places.
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

// Tries the oldest entry of `owner`'s lane. If it finds no waiter it becomes the newest entry of
// this worker's own lane.
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

// Tries each entry of the lane once, the oldest first. Entries that find no waiter become the
// newest ones of this worker's own lane.
Fiber *HandAny(Worker *worker, Worker &owner, uint32_t lane) noexcept {
    Fiber *waiter = nullptr;
    for (uint64_t left = owner.lanes[lane].Size(); left != 0 && waiter == nullptr; --left)
        waiter = HandOldest(worker, owner, lane);
    return waiter;
}

// Returns the fiber if this worker may resume it. Then the worker must resume it next, because
// perhaps no other worker may. Otherwise makes the fiber ready for its worker and returns null.
Fiber *OwnOrMakeReady(Worker *worker, Fiber *waiter) noexcept {
    if (waiter == nullptr) return nullptr;
    if (waiter->pinnedTo == kAnyWorker || waiter->pinnedTo == worker->index) {
        SetReady(worker, waiter);
        return waiter;
    }
    MakeReady(*worker->scheduler, worker, waiter);
    return nullptr;
}

}  // namespace

Fiber *Rescue(Worker *worker, StackClass stack) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // seq_cst, both: before the lanes and the waiters are checked.
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
    if (scheduler.idle.Wanted(~0u)) WakeEverySleeper(scheduler, worker);
}

}  // namespace weft::internal
