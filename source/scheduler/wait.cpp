#include "scheduler/wait.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
#include "scheduler/fiber_switch.h"
#include "scheduler/foreign.h"
#include "scheduler/help.h"
#include "scheduler/post.h"
#include "scheduler/run_task.h"
#include "scheduler/submit.h"
#include "scheduler/trace.h"
#include "scheduler/turn.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Until the wait is over; or, if it is for zero, until the fiber has been handed a task of the counter (rescue.h): then true.
bool SuspendOrTake(Fiber *self, Counter &counter, uint32_t value, TaskEntry &handed) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    const bool takes = value == 0 && MayHelp(self, scheduler, StackClass::Small);
    if (takes) {
        self->takes = MayHelp(self, scheduler, StackClass::Large) ? StackClass::Large : StackClass::Small;
        self->handed = &handed;  // published by the counter's record; then with the fiber
    }
    self->waitTarget = value;
    self->waitsFor.store(&counter, kRelaxed);  // read on this thread by the context that we leave for
    const auto what = [self, value, waited = &counter](TraceEvent &event) {
        event.count = value;
        event.task = self->taskName.load(kRelaxed);
        event.counter = waited;
    };
    Trace(self->worker, &TraceHooks::wait, what);
    SuspendTo(self, Destination::ToWaiting);
    const bool hasTaken = takes && self->handed == nullptr;
    self->handed = nullptr;
    if (!hasTaken) race::SawCount(counter);
    self->waitsFor.store(nullptr, kRelaxed);  // for reports
    Trace(self->worker, &TraceHooks::resume, what);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(self->worker);
    return hasTaken;
}

// Whatever it is handed meanwhile runs here.
WEFT_NOINLINE void Suspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    const Priority priority = self->priority;
    for (TaskEntry handed; SuspendOrTake(self, counter, value, handed);) {
        ClaimEntry(self->worker, handed, self->priority, false);  // Low, if the task is limited
        RunClaim(self, AndThen::ReturnToTask);
        self->priority = priority;
        if (IsSatisfied(counter, 0) || Help(self, counter)) return;
    }
}

void HelpOrSuspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (IsSatisfied(counter, value)) return GiveTurn(self);
    UnclaimRest(self->worker);
    if (value == 0) {
        if (Help(self, counter)) return;
        // What others ran may have finished while no task was left for this one.
        if (IsSatisfied(counter, 0)) return GiveTurn(self);
    }
    Suspend(self, counter, value);
}

// Pinned meanwhile; so are the waits of tasks that this one helps with.
void WaitOnThisWorker(Fiber *self, Counter &counter, uint32_t value) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    // The thread does not detach before this is over. It has not detached yet, so there is nothing to refuse.
    const bool bind = scheduler.IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    race::ComesToThread(worker);
    HelpOrSuspend(self, counter, value);
    self->pinnedTo = kAnyWorker;
    if (bind) Unbind(scheduler, worker, *worker);
}

}  // namespace

void Wait(Worker *worker, Counter &counter, uint32_t value, Resume resume) noexcept {
    FlushPending(worker);
    Fiber *self = worker->current;
    if (resume == Resume::SameWorker && self->pinnedTo == kAnyWorker) {
        WaitOnThisWorker(self, counter, value);
    } else {
        HelpOrSuspend(self, counter, value);
    }
}

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
    if (WEFT_LIKELY(priority == options.priority)) {
        if (published != 0) Publish(worker, published, tasks + 1, &counter, options);
    } else {
        TaskOptions inherited = options;
        inherited.priority = priority;
        if (published != 0) Publish(worker, published, tasks + 1, &counter, inherited);
    }
    if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, 1, &counter, options);
    RunTask(self, tasks[0], options.name, priority);
    GiveTurn(self);
    if (published == 0) return;
    if (race::kFinder) return Wait(self->worker, counter, 0, Resume::AnyWorker);
    const uint32_t ran = TakeBack(self, counter, published, LaneOf(priority, options.stack));
    if (ran == published) {
        CountFinished(self->worker, ran);  // nobody else ever saw the counter
        return;
    }
    if (ran != 0) NoteFinished(self->worker, &counter, ran);
    Wait(self->worker, counter, 0, Resume::AnyWorker);
}

void YieldFiber(Worker *worker) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    worker->taskBeforeReady = true;
    SuspendTo(self, Destination::ToReady);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(worker);
}

}  // namespace weft::internal
