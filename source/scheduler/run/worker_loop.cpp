#include "scheduler/run/worker_loop.h"

#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/find_work.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/run_task.h"
#include "scheduler/find/steal.h"
#include "scheduler/find/steal_backoff.h"
#include "scheduler/run/search.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/fiber_switch.h"
#include "scheduler/wait/sleep.h"

namespace weft::internal {

namespace {

// Goes on as the loop on a fiber of the other class. False if none is free.
bool ContinueOn(Fiber *self, StackClass stack) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(stack, worker->index);
    if (fiber == FiberPool::kNone) return false;
    SwitchTo(self, &scheduler.fibers[fiber], Destination::ToPool);
    return true;
}

// The next task runs on another fiber, and the counter is lowered by the fiber of the task that it
// counted: or ThreadSanitizer would take the two tasks for one thread.
void ForRaceFinder(Fiber *self, StackClass stack) noexcept {
    FlushPending(self->worker);
    ContinueOn(self, stack);
}

// Becomes inactive, or active again. Others may have to do what this worker would have done.
void StepBack(Worker *worker, bool inactive) noexcept {
    worker->inactive = inactive;
    if (!inactive) return;
    StopSearching(worker);
    for (uint32_t i = 0; i < 2; ++i) WakeForAny(*worker->scheduler, worker);
}

// Tasks begin with the control words of their worker's thread. The fiber has others if it is new,
// if another worker had it before, or if its last task began elsewhere: such a task keeps its own
// to its end.
void TakeFloatingPoint(Fiber *self) noexcept {
    self->floatingPoint = self->worker->floatingPoint;
    SetFloatingPointControl(self->floatingPoint);
}

void RunLoop(Fiber *self, StackClass stack) noexcept {
    for (;;) {
        Worker *worker = self->worker;
        Scheduler &scheduler = *worker->scheduler;
        if (WEFT_UNLIKELY(self->floatingPoint != worker->floatingPoint)) TakeFloatingPoint(self);
        if (!worker->claim.HasMore()) {
            TaskEntry entry;
            Level level;
            if (stack == StackClass::Small && FindPlain(worker, entry, level)) {
                self->taskCounter = entry.TheCounter();
                if (entry.IsSlice()) {
                    ClaimEntry(worker, entry, level, false);
                    RunClaim(self);
                } else {
                    RunEntry(self, entry, level);
                }
                if (race::kFinder) ForRaceFinder(self, stack);
                continue;
            }
            if (worker->pending.Any()) {
                worker->willPollNext = true;
                LowerPending(worker);
                worker->willPollNext = false;
                continue;
            }
            if (scheduler.stopping.load(kRelaxed)) {  // told by WakeAll, or by our own Stop
                if (scheduler.ending != nullptr) return;
                SwitchTo(self, &worker->threadFiber, Destination::ToPool);
                continue;
            }
            if (IsPumping(worker)) {
                const Found found = FindPumped(worker);
                if (found.fiber != nullptr) SwitchTo(self, found.fiber, Destination::ToPool);
                continue;
            }
            const WorkerMode mode = ModeOf(worker);
            const bool inactive = mode == WorkerMode::PinnedOnly;
            if (inactive != worker->inactive) StepBack(worker, inactive);
            Found found = worker->searching ? SearchForTasks(worker) : FindOwn(worker, mode);
            if (!found && stack == StackClass::Large) {
                // Nobody searches or sleeps on a stack that others may be waiting for.
                if (!ContinueOn(self, StackClass::Small))
                    SwitchTo(self, &worker->threadFiber, Destination::ToPool);
                continue;
            }
            if (!found && mode == WorkerMode::Tasks) {
                NoteVisit(worker);
                found = IsRestricted(worker) ? Steal(worker, WorkerMode::Tasks)
                                             : SearchForTasks(worker);
            }
            if (!found) {
                SwitchTo(self, &worker->threadFiber, Destination::ToPool);
                continue;
            }
            if (found.fiber != nullptr) {
                SwitchTo(self, found.fiber, Destination::ToPool);
                continue;
            }
        }
        if (worker->claim.stack == stack) {
            self->taskCounter = worker->claim.counter;
            RunClaim(self);
            if (race::kFinder) ForRaceFinder(self, stack);
        } else if (!ContinueOn(self, worker->claim.stack)) {
            PutClaimBack(worker);
            // A small task would fit on a Large stack, but it may wait, and what it waits for may
            // need this very stack.
            if (stack == StackClass::Large)
                SwitchTo(self, &worker->threadFiber, Destination::ToPool);
        }
    }
}

}  // namespace

FiberContext *FiberMain(void *arg) noexcept {
    Fiber *self = static_cast<Fiber *>(arg);
    FinishSwitch(self);
    RunLoop(self, self->worker->scheduler->pool.ClassOf(self->index));
    return self->worker->scheduler->ending;
}

namespace {

// A small fiber for the worker's loop; null, and the worker is starved from now on, if there is
// none. One that was freed meanwhile it sees before it sleeps.
Fiber *LoopFiber(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(StackClass::Small, worker->index);
    if (fiber == FiberPool::kNone) StopSearching(worker);  // nobody may rely on us for tasks
    scheduler.pool.SetStarved(worker->index, fiber == FiberPool::kNone);
    return fiber != FiberPool::kNone ? &scheduler.fibers[fiber] : nullptr;
}

// What a starved worker goes on with: a fiber that somebody else left. Null if there is none.
Fiber *WithoutFiber(Worker *worker) noexcept {
    if (IsPumping(worker)) return FindPumped(worker).fiber;
    if (worker->own != nullptr) return FindOwn(worker, WorkerMode::OwnTasks).fiber;
    const Found found = FindOwn(worker, WorkerMode::ReadyFibersOnly);
    return found ? found.fiber : SearchForFibers(worker).fiber;
}

// What a worker does on its thread stack, or reserve stack.
void ThreadLoop(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Fiber *self = &worker->threadFiber;
    // It slept while it was starved, and may have been woken for something else than it goes on
    // with: a fiber that others made ready, or one that was freed. Each of them wakes one sleeper.
    // So if it is woken for the one and takes the other, whoever was woken for that other one finds
    // what it leaves; but with a fiber of its own it takes neither.
    bool woken = false;
    while (!scheduler.stopping.load(kRelaxed)) {
        // A loop came here as a searcher that found nothing, or because its worker is without a
        // fiber.
        if (worker->searching) {
            Sleep(worker, WorkerMode::Tasks);
            if (scheduler.stopping.load(kRelaxed)) break;
        } else if (!IsPumping(worker) && ModeOf(worker) == WorkerMode::PinnedOnly) {
            // who pumps goes on at once
            scheduler.pool.SetStarved(worker->index, false);
            // What it was woken for, or made ready when it came here, it does not look for.
            if (woken && scheduler.pool.AnyFree(StackClass::Small))
                WakeStarved(scheduler, worker);                               // [re-check]
            if (woken || worker->wakePending) WakeForAny(scheduler, worker);  // [re-check]
            woken = worker->wakePending = false;
            // While it holds ready fibers, which others do not see, nobody may think that it
            // sleeps.
            if (!AnyPinnedFiber(*worker)) Sleep(worker, WorkerMode::PinnedOnly);
            if (scheduler.stopping.load(kRelaxed)) break;
        } else if (!IsPumping(worker) && IsRestricted(worker)) {
            Sleep(worker, worker->own != nullptr ? WorkerMode::OwnTasks : WorkerMode::HigherTasks);
            if (scheduler.stopping.load(kRelaxed)) break;
        }
        Fiber *next = LoopFiber(worker);
        if (next == nullptr) {
            next = WithoutFiber(worker);
            if (next == nullptr && IsRestricted(worker)) {
                next = Rescue(worker, StackClass::Small);
                if (next == nullptr) continue;
            }
            if (next == nullptr) {
                Sleep(worker, WorkerMode::ReadyFibersOnly);
                woken = true;
                continue;
            }
            scheduler.pool.SetStarved(worker->index, false);
            if (woken) WakeForAny(scheduler, worker);  // [re-check]
        }
        woken = false;
        SwitchTo(self, next, Destination::None);
    }
}

}  // namespace

void ThreadMain(Worker *worker, Fiber *first) noexcept {
    Fiber *self = &worker->threadFiber;
    self->worker = worker;
    self->context.Adopt();
    worker->current = self;
    worker->floatingPoint = FloatingPointControl();
    env::SetThreadSlot(worker);
    if (first != nullptr) SwitchTo(self, first, Destination::None);
    ThreadLoop(worker);
    env::SetThreadSlot(nullptr);
}

FiberContext *ReserveMain(void *arg) noexcept {
    Fiber *self = static_cast<Fiber *>(arg);
    FinishSwitch(self);
    ThreadLoop(self->worker);
    return self->worker->scheduler->ending;
}

}  // namespace weft::internal
