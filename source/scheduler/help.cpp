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
WEFT_FORCEINLINE bool PopSingle(Worker *worker, uint32_t lane, const Counter *counter, TaskEntry &entry) noexcept {
    return worker->lanes[lane].PopIf(
        entry, [=](const TaskEntry &newest) { return newest.TheCounter() == counter && !newest.IsSlice(); });
}

// Where Low tasks are limited, one stays Low: or it would go on where it must not when it has waited.
WEFT_FORCEINLINE Priority OnTop(const Fiber *self, Priority task) noexcept {
    if (WEFT_LIKELY(task <= self->priority)) return task;
    return task == Priority::Low && self->worker->scheduler->LimitsLow() ? task : self->priority;
}

bool RunClaimed(Fiber *self, Counter &counter, StackClass most) noexcept {
    if (!FindOfCounter(self->worker, &counter, most)) return false;
    Claim &claim = self->worker->claim;
    claim.priority = OnTop(self, claim.priority);
    RunClaim(self);
    return true;
}

// The counter's tasks lie in a lane of lower priority: others may take them as if they had the waiter's.
WEFT_NOINLINE void LendPriority(Fiber *self, Counter &counter) noexcept {
    Worker *worker = self->worker;
    if (worker->lanes[worker->newestLane].LooksEmpty()) return;
    if (PriorityOf(worker->newestLane) == Priority::Low && worker->scheduler->LimitsLow()) return;
    const Lent lent(counter, self->priority);
    if (worker->lends.load(kRelaxed) == lent.bits) return;  // the owner's own
    worker->lends.store(lent.bits, kSeqCst);                // [order] before the notice of it
    if (self->priority == Priority::High) worker->scheduler->notices.Show(Notices::kHighWork);
}

// Without a claim, which would only be filled in to be read once. Only where the worker published last: the tasks of the
// counter in other lanes, if there are any, are found with a claim.
WEFT_FORCEINLINE bool RunSingle(Fiber *self, Counter &counter, StackClass most) noexcept {
    const uint32_t lane = self->worker->newestLane;
    Priority priority = self->priority;
    // Most often the tasks are like their waiter: then there is nothing to decide.
    if (WEFT_UNLIKELY(lane != LaneOf(priority, StackClass::Small) || priority == Priority::Low)) {
        if (PriorityOf(lane) > priority) LendPriority(self, counter);
        if (ClassOf(lane) > most || !RunsPriority(*self->worker, PriorityOf(lane))) return false;
        priority = OnTop(self, PriorityOf(lane));
    }
    TaskEntry entry;
    if (!PopSingle(self->worker, lane, &counter, entry)) return false;
    RunTask(self, entry.TheTask(), entry.Name(), priority);
    return true;
}

// Lowers what is pending, if that is due or all that the counter still counts. True if the counter is zero then.
bool EndsPending(Worker *worker, Counter &counter, bool keeps) noexcept {
    if (keeps && counter.Value() != worker->pending.units && !IsPendingDue(worker)) return false;
    FlushPending(worker);
    return IsSatisfied(counter, 0);
}

// A task of the counter has finished. True if the counter is zero then.
WEFT_FORCEINLINE bool Finish(Worker *worker, Counter &counter, bool keeps) noexcept {
    if (keeps || WEFT_UNLIKELY(worker->pending.counter != nullptr)) {  // or it has handed its unit on
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
    if (WEFT_UNLIKELY(!MayHelpAt(*self->worker, self->priority))) return false;
    const uint32_t fit = ClassesThatFit(self, scheduler);
    if (fit == 0) return false;
    const StackClass most = static_cast<StackClass>(fit - 1);
    // Not among a few tasks: if these submit and wait themselves, decrements are lowered one by one in any case.
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

// Runs the tasks that the caller has just published in that lane, and that nobody else has taken. Their counter, which only the caller
// knows, is not lowered. Returns how many ran.
WEFT_FORCEINLINE uint32_t TakeBack(Fiber *self, Counter &counter, uint32_t published, uint32_t lane,
                                   Priority priority) noexcept {
    uint32_t ran = 0;
    TaskEntry entry;
    while (ran < published && RunsPriority(*self->worker, priority) && PopSingle(self->worker, lane, &counter, entry)) {
        RunTask(self, entry.TheTask(), entry.Name(), priority);
        GiveTurn(self);
        ++ran;
    }
    return ran;
}

}  // namespace

void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    Fiber *self = worker->current;
    Scheduler &scheduler = *worker->scheduler;
    FlushPending(worker);
    UnclaimRest(worker);  // below what is published now: the wait looks for that at the bottom of the deque
    // Not what belongs to other workers.
    const bool limited = options.priority == Priority::Low && scheduler.LimitsLow();
    if (options.worker != kAnyWorker || (limited && !scheduler.RunsLow(worker->index)) ||
        !MayHelp(self, scheduler, options.stack)) {
        Counter counter;
        if (Submit(worker, count, tasks, &counter, options)) Wait(worker, counter, 0, Resume::AnyWorker);
        return;
    }
    const uint32_t published = count - 1;
    Counter counter(published);  // nobody knows it yet
    const Priority priority = limited ? options.priority : std::min(options.priority, self->priority);
    const TaskOptions *publishAs = &options;
    TaskOptions inherited;
    if (WEFT_UNLIKELY(priority != options.priority)) {
        inherited = options;
        inherited.priority = priority;
        publishAs = &inherited;
    }
    if (published != 0) Publish(worker, published, tasks + 1, &counter, *publishAs);
    if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, 1, &counter, options);
    uint32_t ran = 0;
    {
        const Awaits awaits(self, &counter);
        RunTask(self, tasks[0], options.name, priority);
        GiveTurn(self);
        if (!race::kFinder) ran = TakeBack(self, counter, published, LaneOf(priority, options.stack), priority);
    }
    // The counter is not lowered for tasks that ran here. Other workers know it only if they stole some of its tasks, or child tasks.
    if (ran != 0 && counter.Value() == ran) return CountFinished(self->worker, ran);
    if (ran != 0) NoteFinished(self->worker, &counter, ran);
    if (!IsSatisfied(counter, 0)) Wait(self->worker, counter, 0, Resume::AnyWorker);
}

}  // namespace weft::internal
