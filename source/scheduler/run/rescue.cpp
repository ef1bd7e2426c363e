// What happens if no fiber is free.
#include "scheduler/run/run.h"

#include "scheduler/policy/places.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

namespace {

// Takes a waiter for zero of the counter off its list, of the same group as the task. Returns null
// if there is none.
Fiber *TakeWaiter(Worker &worker, Counter &counter, uint32_t slot, bool withRoom) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const auto wants = [&](uint32_t owner, uint32_t target) {
        if (target != 0 || (owner & kOwnerKind) != 0) return false;
        const Fiber &fiber = scheduler.fibers[owner];
        return fiber.wait.deadline.load(kRelaxed) == Timers::kNever && !fiber.IsThreadStack() &&
               fiber.level.Slot() == slot &&
               (fiber.pinnedTo == kAnyWorker || fiber.pinnedTo == worker.index) &&
               (fiber.wait.hasRoom || !withRoom);
    };
    const uint32_t owner =
        scheduler.counters.RemoveIf(CounterAccess::Word(counter), worker.index, wants);
    return owner != Counters::kNobody ? &scheduler.fibers[owner] : nullptr;
}

// The fiber waits again, as before.
void WaitAgain(Worker &worker, Fiber &fiber) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const Counters::Registration result = scheduler.counters.Register(
        CounterAccess::Word(*fiber.wait.counter.load(kRelaxed)), fiber.index,
        fiber.wait.target.load(kRelaxed), fiber.level.ThePriority());
    if (result != Counters::Registration::Waiting) MakeReady(scheduler, &worker, fiber);
}

// Finds a fiber with room that waits for zero of the counter; or one that waits for the task of
// such a fiber, and so on. If the task needs a lock that a fiber further out holds, the two would
// deadlock on any fiber, because that fiber waits for the task in any case. The counter of a task
// is alive while this thread holds the task's fiber.
Fiber *Climb(Worker &worker, Counter *counter, uint32_t slot) noexcept {
    NodeQueue held;
    Fiber *found = nullptr;
    while (counter != nullptr) {
        found = TakeWaiter(worker, *counter, slot, true);
        if (found != nullptr) break;
        Fiber *const full = TakeWaiter(worker, *counter, slot, false);
        if (full == nullptr) break;
        held.PushBack(*full);
        // the waiters for its inline tasks are on the fiber itself
        counter = full->counter.load(kRelaxed);
    }
    while (Node *const full = held.Take()) WaitAgain(worker, *static_cast<Fiber *>(full));
    return found;
}

Fiber *Give(Worker &worker, Fiber &fiber, const Work &work) noexcept {
    if (IsTraced(*worker.scheduler)) EmitReady(*worker.scheduler, &worker, fiber);
    fiber.start = work;
    return &fiber;
}

}  // namespace

// The counter counts the task, so it is alive.
Fiber *Rescue(Worker &worker, const Work &work) noexcept {
    Fiber *const fiber = Climb(worker, work.entry.TheCounter(), work.level.Slot());
    return fiber != nullptr ? Give(worker, *fiber, work) : nullptr;
}

void PutBehind(Worker &worker, const Work &work) noexcept {
    AddTo(worker.rest.refused, 1, kRelaxed);  // published by the end of the look
    Chunk &chunk = ChunkFor(worker, work.entry, work.level);
    if (!chunk.isPinned) return Inject(*worker.scheduler, &worker, &chunk, &chunk, 1);
    worker.pinned[static_cast<uint32_t>(work.level.ThePriority())].PushBack(chunk);
    NoteFilter(worker);
}

Fiber *WithoutFiber(Fiber &self, Destination destination, const Work &work) noexcept {
    Worker &worker = *self.worker;
    if (!work) return &worker.thread;
    FiberWait &wait = self.wait;
    const bool isOwn =
        destination == Destination::ToWaiting && wait.deadline.load(kRelaxed) == Timers::kNever &&
        wait.target.load(kRelaxed) == 0 && work.entry.TheCounter() == wait.counter.load(kRelaxed) &&
        work.level.Slot() == self.level.Slot();
    // `self` is not on the counter's list yet
    Counter *const counter = isOwn ? self.counter.load(kRelaxed) : work.entry.TheCounter();
    Fiber *const taker = isOwn && wait.hasRoom ? &self : Climb(worker, counter, work.level.Slot());
    if (taker != nullptr) return Give(worker, *taker, work);
    PutBehind(worker, work);
    return &worker.thread;
}

}  // namespace weft::internal
