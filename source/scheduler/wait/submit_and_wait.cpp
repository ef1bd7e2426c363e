// Implements AddTasksAndWait without a wait record or a decrement in the usual case, where all
// tasks run on the caller's stack.
#include "scheduler/wait/submit_and_wait.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/run_task.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/run_inline.h"
#include "scheduler/wait/urgent.h"
#include "scheduler/wait/wait.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Runs the tasks that the caller has just published in that lane and that no other worker has
// taken. Only the caller knows their counter, so it is not lowered. Returns how many ran.
WEFT_FORCEINLINE uint32_t TakeBack(Fiber *self, Counter &counter, uint32_t published, uint32_t lane,
                                   Level level) noexcept {
    const bool anyRuns = self->worker->scheduler->groupCount == 1;
    uint32_t ran = 0;
    TaskEntry entry;
    while (ran < published && (WEFT_LIKELY(anyRuns) || Runs(*self->worker, level)) &&
           PopSingle(self->worker, lane, &counter, entry)) {
        RunTask(self, entry, level);
        YieldToUrgent(self);
        ++ran;
    }
    return ran;
}

// Returns the level at which to publish tasks that run at level `onTop` on top of their submitter.
// Raises their priority only if the same workers may run them then.
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
    // The rest of the claim goes back to the lane before the new tasks are published. So the new
    // tasks are the newest entries, where the wait searches for them.
    UnclaimRest(worker);
    // With one group, the tasks have the higher of the two priorities.
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
    // These tasks must not run here: they are pinned, belong to other groups, or need a larger
    // stack.
    if (options.worker != kAnyWorker || onTop.IsNone() || scheduler.options.migrateAfterWait ||
        !MayRunInline(self, scheduler, options.stack)) {
        Counter counter;
        if (Submit(worker, count, tasks, &counter, options))
            Wait(worker, counter, 0, ResumeOn::AnyWorker);
        return;
    }
    const uint32_t others = count - 1;
    Counter counter(others);  // no other thread knows it yet
    if (others != 0) Publish(worker, others, tasks + 1, &counter, {lane, 0, options.name});
    uint32_t taskId = 0;
    if (IsTraced(scheduler))
        taskId = TraceSubmit(scheduler, worker, 1, tasks, &counter, {lane, 0, options.name});
    uint32_t ran = 0;
    {
        const Awaits awaits(self, &counter);
        RunTask(self, tasks[0], options.name, onTop, [&] { return Origin{&counter, taskId}; });
        YieldToUrgent(self);
        if (!race::kFinder) ran = TakeBack(self, counter, others, lane, onTop);
    }
    AddTo(self->worker->directTasks, 1);
    if (ran != 0) AddTo(self->worker->inlineRuns, ran);
    // The counter has not been lowered for tasks that ran here. Other workers know it only if they
    // stole some of its tasks, or child tasks.
    if (ran != 0 && counter.Value() == ran) return CountFinished(self->worker, ran);
    if (ran != 0) NoteFinished(self->worker, &counter, ran);
    if (!IsSatisfied(counter, 0)) Wait(self->worker, counter, 0, ResumeOn::AnyWorker);
}

}  // namespace weft::internal
