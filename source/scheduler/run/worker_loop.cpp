// Implements worker_loop.h. RunLoop runs on a pool fiber and runs tasks. ThreadLoop runs on the
// thread's own stack and sleeps.
#include "scheduler/run/worker_loop.h"

#include "platform/floating_point.h"
#include "platform/race_finder.h"
#include "platform/thread_end.h"
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

// Continues the loop on a fiber of that class, and frees this one. Returns false if none is free.
bool ContinueOn(Fiber *self, StackClass stack) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(stack, worker->index);
    if (fiber == FiberPool::kNone) return false;
    SwitchTo(self, &scheduler.fibers[fiber], Destination::ToPool);
    return true;
}

// Lets the next task run on another fiber, and lets the fiber of a finished task lower its counter.
// Otherwise ThreadSanitizer would take the two tasks for one thread.
void ForRaceFinder(Fiber *self, StackClass stack) noexcept {
    FlushPending(self->worker);
    ContinueOn(self, stack);
}

// Makes the worker inactive, or active again. An inactive worker wakes others, because they may
// have to do what it would have done.
void StepBack(Worker *worker, bool inactive) noexcept {
    worker->inactive = inactive;
    if (!inactive) return;
    StopSearching(worker);
    for (uint32_t i = 0; i < 2; ++i) WakeForAny(*worker->scheduler, worker);
}

// Tasks begin with the control words of their worker's thread. The fiber has others if it is new,
// if another worker had it before, or if its last task began on another worker: such a task keeps
// its own words to its end.
void TakeFloatingPoint(Fiber *self) noexcept {
    self->floatingPoint = self->worker->floatingPoint;
    SetFloatingPointControl(self->floatingPoint);
}

// Runs tasks and switches to ready fibers until the scheduler ends. `stack`: the class of the fiber
// `self`.
void RunLoop(Fiber *self, StackClass stack) noexcept {
    for (;;) {
        Worker *worker = self->worker;
        Scheduler &scheduler = *worker->scheduler;
        if (WEFT_UNLIKELY(self->floatingPoint != worker->floatingPoint)) TakeFloatingPoint(self);
        if (!worker->claim.HasMore()) {
            TaskEntry entry;
            Level level;
            if (stack == StackClass::Small && FindPlain(worker, entry, level)) {
                self->taskCounter.store(entry.TheCounter(), kRelaxed);  // for reports
                if (entry.IsSlice()) {
                    ClaimEntry(worker, entry, level, worker->index);
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
            // set before WakeAll, or by this thread itself
            if (scheduler.stopping.load(kRelaxed)) {
                if (scheduler.ending != nullptr) return;
                SwitchTo(self, &worker->threadFiber, Destination::ToPool);
                continue;
            }
            if (IsPumping(worker)) {
                const Found found = FindPumped(worker);
                if (found.fiber != nullptr) SwitchTo(self, found.fiber, Destination::ToPool);
                continue;
            }
            self->taskCounter.store(nullptr, kRelaxed);  // for reports
            const WorkerMode mode = ModeOf(worker);
            const bool inactive = mode == WorkerMode::PinnedOnly;
            if (inactive != worker->inactive) StepBack(worker, inactive);
            Found found = worker->searching ? SearchForTasks(worker) : FindOwn(worker, mode);
            if (!found && stack == StackClass::Large) {
                // A loop on a Large fiber must not search or sleep: other workers may be waiting
                // for that fiber.
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
            self->taskCounter.store(worker->claim.counter, kRelaxed);  // for reports
            RunClaim(self);
            if (race::kFinder) ForRaceFinder(self, stack);
        } else if (!ContinueOn(self, worker->claim.stack)) {
            PutClaimBack(worker);
            // A small task has room on a Large stack. But it may wait, and the work that it waits
            // for may need this very stack.
            if (stack == StackClass::Large)
                SwitchTo(self, &worker->threadFiber, Destination::ToPool);
        }
    }
}

}  // namespace

FiberContext *FiberMain(void *arg) noexcept {
    Fiber *self = static_cast<Fiber *>(arg);
    FinishSwitch(self);
    self->hasRunTask.store(true, kRelaxed);  // for reports
    RunLoop(self, self->worker->scheduler->pool.ClassOf(self->index));
    return self->worker->scheduler->ending;
}

namespace {

// Returns a small fiber for the worker's loop. Returns null if none is free: then the worker is
// starved from now on. The worker checks once more for a freed fiber before it sleeps.
Fiber *LoopFiber(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(StackClass::Small, worker->index);
    // publishers of tasks must not rely on this worker
    if (fiber == FiberPool::kNone) StopSearching(worker);
    scheduler.pool.SetStarved(worker->index, fiber == FiberPool::kNone);
    return fiber != FiberPool::kNone ? &scheduler.fibers[fiber] : nullptr;
}

// Returns a fiber that a starved worker can continue. Null if there is none.
Fiber *WithoutFiber(Worker *worker) noexcept {
    if (IsPumping(worker)) return FindPumped(worker).fiber;
    if (worker->own != nullptr) return FindOwn(worker, WorkerMode::OwnTasks).fiber;
    const Found found = FindOwn(worker, WorkerMode::ReadyFibersOnly);
    return found ? found.fiber : SearchForFibers(worker).fiber;
}

// The loop of a worker on its thread's own stack, or on its reserve stack.
void ThreadLoop(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Fiber *self = &worker->threadFiber;
    // True after a sleep as a starved worker. Two events wake such a worker, and each wakes one
    // sleeper: another worker has made a fiber ready, or has freed a fiber. If this worker was
    // woken for one and takes the other, the worker that was woken for the other finds what this
    // one leaves. But if this worker takes a fiber from its own queues, it takes neither. Then it
    // must wake another worker.
    bool woken = false;
    while (!scheduler.stopping.load(kRelaxed)) {
        // The worker comes here from a loop: as a searcher that found nothing, or because it has no
        // fiber.
        if (worker->searching) {
            Sleep(worker, WorkerMode::Tasks);
            if (scheduler.stopping.load(kRelaxed)) break;
        } else if (!IsPumping(worker) && ModeOf(worker) == WorkerMode::PinnedOnly) {
            // not while a fiber pumps: that fiber continues at once
            scheduler.pool.SetStarved(worker->index, false);
            // An inactive worker does not search for the work that it was woken for, nor for a
            // fiber that it has made ready on its way here. So it wakes others for both.
            if (woken && scheduler.pool.AnyFree(StackClass::Small))
                WakeStarved(scheduler, worker);                               // [re-check]
            if (woken || worker->wakePending) WakeForAny(scheduler, worker);  // [re-check]
            woken = worker->wakePending = false;
            // While it holds ready pinned fibers, which other workers do not see, it must not be
            // counted as asleep.
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
    const auto loop = [=] {
        if (first != nullptr) SwitchTo(self, first, Destination::None);
        ThreadLoop(worker);
    };
    CallToEnd(loop, [](void *) { CheckThreadStays(); });
    env::SetThreadSlot(nullptr);
}

FiberContext *ReserveMain(void *arg) noexcept {
    Fiber *self = static_cast<Fiber *>(arg);
    FinishSwitch(self);
    ThreadLoop(self->worker);
    return self->worker->scheduler->ending;
}

}  // namespace weft::internal
