#include "scheduler/large_backlog.h"

#include "scheduler/low_limit.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

namespace {

// A fiber, from `next` on, that waits for the item's counter and takes it; it is off the counter, and the caller's to make ready.
// The counter stays while the caller has the item, because it counts it.
Fiber *TakeWaiter(Worker *worker, const TaskEntry &entry, uint32_t &next) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Counter *counter = entry.TheCounter();
    if (counter == nullptr) return nullptr;
    CounterStorage &word = CounterAccess::Word(*counter);
    // seq_cst: after the item was counted, see PutIntoBacklog. Whose record is seen, of him all is seen that he wrote before.
    const CounterWord now{word.load(kSeqCst)};
    if (now.Head() == 0 && !now.IsSorting()) return nullptr;  // while they are sorted, they are in the sorter's hands
    const uint32_t fibers = scheduler.FiberCount();
    while (next < fibers) {
        const uint32_t i = next++;
        Fiber &fiber = scheduler.fibers[i];
        // relaxed: a guess; the record decides.
        if (fiber.waitsFor.load(kRelaxed) != counter || fiber.handed.load(kRelaxed) == nullptr) continue;
        uint32_t woken = 0;
        const bool isTaken = scheduler.counters.Remove(word, i, woken, 0);
        WakeOwners(scheduler, worker, woken);
        if (!isTaken) continue;
        if (fiber.handed.load(kRelaxed) != nullptr) return &fiber;
        // It has begun another wait since the guess. Nobody can have let it go on meanwhile: the count is not zero.
        scheduler.counters.Register(word, i, 0);
    }
    return nullptr;
}

// Its worker may be busy for long, or all permits be others', and the task could then be run by nobody else.
bool MayBeLate(const Fiber &waiter) noexcept { return waiter.pinnedTo != kAnyWorker || waiter.holdsLow; }

// False: it is to be put away. A waiter that may be late is woken without it, and takes it itself (TakeOfCounter) if it is still
// there then. A Low task that needs a permit of its own is nobody's: the waiter may have none.
bool HandToWaiter(Worker *worker, const BacklogEntry &item) noexcept {
    if (item.lane == kLowLane && worker->scheduler->options.maxLowWorkers != 0) return false;
    uint32_t next = 0;
    while (Fiber *waiter = TakeWaiter(worker, item.entry, next)) {
        const bool gets = !MayBeLate(*waiter);
        // relaxed: published with the fiber.
        *waiter->handed.load(kRelaxed) = gets ? item : BacklogEntry{};
        waiter->handed.store(nullptr, kRelaxed);
        MakeReady(*worker->scheduler, worker, waiter);
        if (gets) return true;
    }
    return false;
}

bool IsLow(const BacklogEntry &item) noexcept { return item.lane == kLowLane; }

StealResult StealFrom(Worker &victim, bool low, BacklogEntry &item) noexcept {
    const StealResult result = victim.largeBacklog[low].Steal(item);
    // relaxed: too high for a moment; somebody looks in vain. Never too low: what is put away was counted before.
    if (result == StealResult::Taken) victim.scheduler->largeBacklog[low].fetch_sub(1, kRelaxed);
    return result;
}

// Takes what is put away by now, one after the other; `keeps(item)` ends it, and what is not kept is put away again.
template <class Keeps>
bool GoThrough(Worker *worker, bool low, Keeps keeps) noexcept {
    const uint32_t slots = worker->scheduler->Slots();
    for (uint32_t i = 1; i <= slots; ++i) {  // the caller's last: it gets what is put back
        Worker &victim = worker->scheduler->workers[(worker->index + i) % slots];
        // relaxed: no less than there was when we asked.
        uint32_t left = worker->scheduler->largeBacklog[low].load(kRelaxed);
        for (BacklogEntry item; left != 0; --left) {
            StealResult result = StealFrom(victim, low, item);
            while (result == StealResult::Lost) result = StealFrom(victim, low, item);
            if (result == StealResult::Empty) break;
            if (keeps(item)) return true;
            PutIntoBacklog(worker, item);
        }
    }
    return false;
}

}  // namespace

void PutIntoBacklog(Worker *worker, BacklogEntry item) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    env::Atomic<uint32_t> &count = scheduler.largeBacklog[IsLow(item)];
    count.fetch_add(1, kSeqCst);  // before the looks at the counter and for a free Large fiber
    for (;;) {
        // acquire: who has asked before this is seen at the counter.
        const uint32_t waits = scheduler.largeWaits.load(kAcquire);
        if (HandToWaiter(worker, item)) {
            count.fetch_sub(1, kRelaxed);  // as in StealFrom
            return;
        }
        WorkStealingDeque<BacklogEntry> &backlog = worker->largeBacklog[IsLow(item)];
        if (WEFT_UNLIKELY(!backlog.Push(item))) {
            ReportFatal(scheduler.options, ReportCode::OutOfMemory,
                        "Give the process more memory, or submit less at once.", "a worker's deque could not grow");
        }
        // A read-modify-write, and release: who asks after this finds the item.
        if (scheduler.largeWaits.fetch_add(0, kAcqRel) == waits || !backlog.Pop(item)) break;
    }
    if (scheduler.pool.AnyFree(StackClass::Large)) WakeForTasks(scheduler, worker, 1);  // [re-check]
}

bool TakeFromBacklog(Worker *worker, bool low, BacklogEntry &item) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        if (StealFrom(scheduler.workers[(worker->index + i) % slots], low, item) == StealResult::Taken) return true;
    }
    return false;
}

void OfferBacklog(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // After the caller got in line: whoever counts something from now on sees the waiter.
    if (scheduler.largeBacklog[0].load(kSeqCst) + scheduler.largeBacklog[1].load(kSeqCst) == 0) return;
    scheduler.largeWaits.fetch_add(1, kAcqRel);  // release: the waiter; acquire: what was put away before
    for (const bool low : {false, true}) GoThrough(worker, low, [](const BacklogEntry &) { return false; });
}

bool TakeOfCounter(Worker *worker, const Counter &counter, BacklogEntry &item) noexcept {
    const auto isOurs = [&](const BacklogEntry &found) {
        if (found.entry.TheCounter() != &counter) return false;
        item = found;
        return true;
    };
    if (GoThrough(worker, false, isOurs)) return true;
    return worker->scheduler->options.maxLowWorkers == 0 && GoThrough(worker, true, isOurs);
}

}  // namespace weft::internal
