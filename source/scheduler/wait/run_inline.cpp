#include "scheduler/wait/run_inline.h"

#include "scheduler/find/run_task.h"
#include "scheduler/find/take.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/urgent.h"

#include <algorithm>

namespace weft::internal {

namespace {

bool RunClaimed(Fiber *self, Counter &counter, StackClass most) noexcept {
    if (!FindOfCounter(self->worker, &counter, most)) return false;
    RunClaim(self);
    return true;
}

// The counter's tasks lie in a lane of lower priority: others may take them as if they had the
// waiter's.
WEFT_NOINLINE void LendPriority(Fiber *self, Counter &counter) noexcept {
    Worker *worker = self->worker;
    if (worker->lanes[worker->newestLane].LooksEmpty()) return;
    // At the lent priority other groups might run it.
    const Level level = LevelOf(worker->newestLane);
    if (!MayRaise(*worker->scheduler, level)) return;
    const Lent lent(counter, self->level.ThePriority());
    if (worker->lends.load(kRelaxed) == lent.bits) return;  // the owner's own
    worker->lends.store(lent.bits, kSeqCst);                // [order] before the notice of it
    if (self->level.ThePriority() == Priority::High)
        ShowLevel(*worker->scheduler, {Priority::High, level.Set()});
}

// Without a claim, which would only be filled in to be read once. Only where the worker published
// last: the tasks of the counter in other lanes, if there are any, are found with a claim.
WEFT_FORCEINLINE bool RunSingle(Fiber *self, Counter &counter, StackClass most) noexcept {
    const uint32_t lane = self->worker->newestLane;
    Level level = self->level;
    // Most often the tasks are like their waiter: then there is nothing to decide.
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
    RunTask(self, entry.TheTask(), entry.Name(), level);
    return true;
}

// Lowers what is pending, if that is due or all that the counter still counts. True if the counter
// is zero then.
bool EndsPending(Worker *worker, Counter &counter, bool keeps) noexcept {
    if (keeps && counter.Value() != worker->pending.units && !IsPendingDue(worker)) return false;
    FlushPending(worker);
    return IsSatisfied(counter, 0);
}

// A task of the counter has finished. True if the counter is zero then.
WEFT_FORCEINLINE bool Finish(Worker *worker, Counter &counter, bool keeps) noexcept {
    // or it has handed its unit on
    if (keeps || WEFT_UNLIKELY(worker->pending.counter != nullptr)) {
        NoteFinished(worker, &counter, 1);
        return EndsPending(worker, counter, keeps);
    }
    LowerCounter(*worker->scheduler, worker, counter, 1);
    CountFinished(worker, 1);
    return IsSatisfied(counter, 0);
}

}  // namespace

bool RunInline(Fiber *self, Counter &counter, uint64_t deadline) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    if (race::kFinder && scheduler.pool.AnyFree(StackClass::Small)) return false;
    if (WEFT_UNLIKELY(!MayRunInlineAt(*self->worker, self->level.ThePriority()))) return false;
    const uint32_t fit = ClassesThatFit(self, scheduler);
    if (fit == 0) return false;
    const StackClass most = static_cast<StackClass>(fit - 1);
    // Not among a few tasks: if these submit and wait themselves, decrements are lowered one by one
    // in any case.
    const bool keeps = counter.Value() > 8;
    bool isOver = false;
    do {
        if (RunSingle(self, counter, most)) {
            isOver = Finish(self->worker, counter, keeps);
        } else if (RunClaimed(self, counter, most)) {
            isOver = EndsPending(self->worker, counter, keeps);
        } else {
            break;
        }
        YieldToUrgent(self);
    } while (!isOver && (deadline == Timers::kNever || env::Now() < deadline));
    if (!isOver) FlushPending(self->worker);
    StopLending(self->worker);
    return isOver;
}

}  // namespace weft::internal
