// Implements run_inline.h.
#include "scheduler/wait/run_inline.h"

#include "scheduler/find/ordered.h"
#include "scheduler/find/run_task.h"
#include "scheduler/find/take.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/urgent.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Runs a task of the counter that FindOfCounter finds in any lane of the worker.
bool RunClaimed(Fiber *self, Counter &counter, StackClass most) noexcept {
    if (!FindOfCounter(self->worker, &counter, most)) return false;
    RunClaim(self);
    return true;
}

// The counter's tasks lie in a lane of lower priority. Lets other workers take them at the waiter's
// priority.
WEFT_NOINLINE void LendPriority(Fiber *self, Counter &counter) noexcept {
    Worker *worker = self->worker;
    if (worker->lanes[worker->newestLane].LooksEmpty()) return;
    // Not if other groups would run the task at the lent priority.
    const Level level = LevelOf(worker->newestLane);
    if (!MayRaise(*worker->scheduler, level)) return;
    const Lent lent(counter, self->level.ThePriority());
    if (worker->lends.load(kRelaxed) == lent.bits) return;  // only the owner writes it
    worker->lends.store(lent.bits, kSeqCst);                // [order] before the notice
    if (self->level.ThePriority() == Priority::High)
        ShowLevel(*worker->scheduler, {Priority::High, level.Set()});
}

// Runs the newest task of the counter without a claim: a claim would be filled in only to be read
// once. Searches only the lane where the worker published last. RunClaimed finds tasks in other
// lanes.
WEFT_FORCEINLINE bool RunSingle(Fiber *self, Counter &counter, StackClass most) noexcept {
    const uint32_t lane = self->worker->newestLane;
    Level level = self->level;
    // Most often the tasks have the waiter's level, and nothing needs to be decided.
    if (WEFT_UNLIKELY(lane != LaneOf(level, StackClass::Small))) {
        if (PriorityOf(lane) > level.ThePriority()) LendPriority(self, counter);
        if (ClassOf(lane) > most || !Runs(*self->worker, LevelOf(lane))) return false;
        level = LevelOnTop(*self->worker->scheduler, level, LevelOf(lane));
        if (level.IsNone()) return false;
    } else if (WEFT_UNLIKELY(!Runs(*self->worker, level))) {
        return false;
    }
    TaskEntry entry;
    if (!PopSingle(self->worker, lane, &counter, entry)) return false;
    RunTask(self, entry, level);
    return true;
}

// Lowers the counter if pending decrements are due, or are all that it still counts. Returns true
// if it is zero afterwards.
bool EndsPending(Worker *worker, Counter &counter, bool keeps) noexcept {
    if (keeps && counter.Value() != worker->pending.units && !IsPendingDue(worker)) return false;
    FlushPending(worker);
    return IsSatisfied(counter, 0);
}

// Counts off one task of the counter. Returns true if the counter is zero afterwards.
WEFT_FORCEINLINE bool Finish(Worker *worker, Counter &counter, bool keeps) noexcept {
    // the second condition: the task has handed its unit on (TakeOverFromRunning)
    if (keeps || WEFT_UNLIKELY(worker->pending.counter != nullptr)) {
        NoteFinished(worker, &counter, 1);
        return EndsPending(worker, counter, keeps);
    }
    LowerCounter(*worker->scheduler, worker, counter, 1);
    CountFinished(worker, 1);
    return IsSatisfied(counter, 0);
}

// RunInline with an order (find/ordered.h). Returns false if the run has none.
WEFT_NOINLINE bool RunInlineOrdered(Fiber *self, Counter &counter, uint64_t deadline) noexcept {
    Scheduler &scheduler = *self->worker->scheduler;
    const uint32_t fit = ClassesThatFit(self, scheduler, scheduler.options.smallStackBytes);
    if (fit == 0 || !scheduler.order.isOn) return false;
    bool isOver = false;
    while (!isOver && (deadline == Timers::kNever || TimeOf(scheduler) < deadline) &&
           FindOfCounterOrdered(self->worker, &counter, static_cast<StackClass>(fit - 1))) {
        RunClaim(self);
        FlushPending(self->worker);
        isOver = IsSatisfied(counter, 0);
        YieldToUrgent(self);
    }
    return isOver;
}

}  // namespace

bool RunInline(Fiber *self, Counter &counter, uint64_t deadline) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    if (race::kFinder && scheduler.pool.AnyFree(StackClass::Small)) return false;
    if (WEFT_UNLIKELY(!MayRunInlineAt(*self->worker, self->level.ThePriority()))) return false;
    const uint32_t fit = ClassesThatFit(self, scheduler, scheduler.order.leastInline);
    if (fit == 0) return RunInlineOrdered(self, counter, deadline);
    const StackClass most = static_cast<StackClass>(fit - 1);
    // Decrements are not kept if there are only a few tasks. If these submit and wait themselves,
    // decrements are carried out one by one in any case.
    const bool keeps = counter.Value() > 8;
    bool isOver = false;
    uint64_t runs = 0;
    do {
        if (RunSingle(self, counter, most)) {
            isOver = Finish(self->worker, counter, keeps);
        } else if (RunClaimed(self, counter, most)) {
            isOver = EndsPending(self->worker, counter, keeps);
        } else {
            break;
        }
        ++runs;
        YieldToUrgent(self);
    } while (!isOver && (deadline == Timers::kNever || env::Now() < deadline));
    if (!isOver) FlushPending(self->worker);
    if (runs != 0) AddTo(self->worker->inlineRuns, runs);
    StopLending(self->worker);
    return isOver;
}

}  // namespace weft::internal
