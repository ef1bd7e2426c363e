#include "scheduler/help.h"

#include "scheduler/claim.h"
#include "scheduler/find_work.h"
#include "scheduler/post.h"
#include "scheduler/publish.h"
#include "scheduler/ready.h"
#include "scheduler/run_task.h"
#include "scheduler/submit.h"
#include "scheduler/trace.h"
#include "scheduler/turn.h"
#include "scheduler/wait.h"

#include <algorithm>

namespace weft::internal {

namespace {

// The newest entry of the lane, if it is a task of the counter on its own.
WEFT_FORCEINLINE bool PopSingle(Worker *worker, uint32_t lane, const Counter *counter,
                                TaskEntry &entry) noexcept {
    return worker->lanes[lane].PopIf(entry, [=](const TaskEntry &newest) {
        return newest.TheCounter() == counter && !newest.IsSlice();
    });
}

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

bool Help(Fiber *self, Counter &counter, uint64_t deadline) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    if (race::kFinder && scheduler.pool.AnyFree(StackClass::Small)) return false;
    if (WEFT_UNLIKELY(!MayHelpAt(*self->worker, self->level.ThePriority()))) return false;
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
        GiveTurn(self);
    } while (!isOver && (deadline == Timers::kNever || env::Now() < deadline));
    if (!isOver) FlushPending(self->worker);
    StopLending(self->worker);
    return isOver;
}

namespace {

// Runs the tasks that the caller has just published in that lane, and that nobody else has taken.
// Their counter, which only the caller knows, is not lowered. Returns how many ran.
WEFT_FORCEINLINE uint32_t TakeBack(Fiber *self, Counter &counter, uint32_t published, uint32_t lane,
                                   Level level) noexcept {
    const bool anyRuns = self->worker->scheduler->groupCount == 1;
    uint32_t ran = 0;
    TaskEntry entry;
    while (ran < published && (WEFT_LIKELY(anyRuns) || Runs(*self->worker, level)) &&
           PopSingle(self->worker, lane, &counter, entry)) {
        RunTask(self, entry.TheTask(), entry.Name(), level);
        GiveTurn(self);
        ++ran;
    }
    return ran;
}

// The level at which tasks that run `onTop` of their submitter are published. Their priority is
// raised only if those who run them then run them as before.
Level Raised(const Scheduler &scheduler, Level level, Level onTop) noexcept {
    return MayRaise(scheduler, level) ? level.At(std::min(level.ThePriority(), onTop.ThePriority()))
                                      : level;
}

}  // namespace

void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept {
    Fiber *self = worker->current;
    Scheduler &scheduler = *worker->scheduler;
    FlushPending(worker);
    // below what is published now: the wait looks for that at the bottom of the deque
    UnclaimRest(worker);
    // With one group, plainly at the higher of the two priorities.
    const Priority higher = std::min(self->level.ThePriority(), options.priority);
    uint32_t lane = PlainLaneOf(higher, options.stack);
    Level onTop = higher;
    if (WEFT_UNLIKELY(scheduler.groupCount > 1)) {
        const Level level = LabelOf(worker, options).TheLevel();
        Level raised = onTop = level;
        if (level != self->level || self->pinnedTo != kAnyWorker) {
            onTop =
                Runs(*worker, level) ? LevelOnTop(scheduler, self->level, level) : Level::None();
            raised = Raised(scheduler, level, onTop);
        }
        lane = LaneOf(raised, options.stack);
    }
    // Not what belongs to other workers.
    if (options.worker != kAnyWorker || onTop.IsNone() ||
        !MayHelp(self, scheduler, options.stack)) {
        Counter counter;
        if (Submit(worker, count, tasks, &counter, options))
            Wait(worker, counter, 0, ResumeOn::AnyWorker);
        return;
    }
    const uint32_t others = count - 1;
    Counter counter(others);  // nobody knows it yet
    if (others != 0) Publish(worker, others, tasks + 1, &counter, {lane, options.name});
    if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, 1, &counter, options.name);
    uint32_t ran = 0;
    {
        const Awaits awaits(self, &counter);
        RunTask(self, tasks[0], options.name, onTop);
        GiveTurn(self);
        if (!race::kFinder) ran = TakeBack(self, counter, others, lane, onTop);
    }
    // The counter is not lowered for tasks that ran here. Other workers know it only if they stole
    // some of its tasks, or child tasks.
    if (ran != 0 && counter.Value() == ran) return CountFinished(self->worker, ran);
    if (ran != 0) NoteFinished(self->worker, &counter, ran);
    if (!IsSatisfied(counter, 0)) Wait(self->worker, counter, 0, ResumeOn::AnyWorker);
}

}  // namespace weft::internal
