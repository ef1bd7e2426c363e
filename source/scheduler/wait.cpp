#include "scheduler/wait.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
#include "scheduler/fiber_switch.h"
#include "scheduler/find_work.h"
#include "scheduler/foreign.h"
#include "scheduler/post.h"
#include "scheduler/submit.h"
#include "scheduler/trace.h"

namespace weft::internal {

namespace {

size_t StackBytes(const Scheduler &scheduler, StackClass stack) noexcept {
    return stack == StackClass::Large ? scheduler.options.largeStackBytes : scheduler.options.smallStackBytes;
}

// A task may run on top of the frames of one that waits if that leaves it half of the stack that it asked for.
bool MayHelp(const Fiber *self, const Scheduler &scheduler, StackClass task) noexcept {
    return !self->IsThreadStack() && task <= scheduler.pool.ClassOf(self->index) &&
           self->StackLeft() > StackBytes(scheduler, task) / 2;
}

// So many claims in a row; then the loop decides what goes first, or a counter that is fed by its own tasks would keep
// everything else waiting.
constexpr uint32_t kMaxHelp = 64;

// While a task waits for zero it may run tasks of that very counter on its own stack: it depends on all of them already,
// so this adds no dependency and no deadlock. Anything else might be what holds a lock that the waiter needs.
void Help(Fiber *self, Counter &counter) noexcept {
    Scheduler &scheduler = *self->worker->scheduler;
    const bool large = MayHelp(self, scheduler, StackClass::Large);
    const StackClass most = large ? StackClass::Large : StackClass::Small;
    for (uint32_t claims = 0; claims < kMaxHelp; ++claims) {
        if (!MayHelp(self, scheduler, most) || !FindOfCounter(self->worker, &counter, most)) return;
        RunClaim(self, AndThen::ReturnToTask);
        if (IsSatisfied(counter, 0)) return;
    }
}

void HelpOrSuspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (value == 0) {
        Help(self, counter);
        if (IsSatisfied(counter, 0)) return;
    }
    self->waitTarget = value;
    self->waitsFor.store(&counter, kRelaxed);  // read on this thread by the context that we leave for
    const auto what = [&](TraceEvent &event) {
        event.count = value;
        event.task = self->taskName.load(kRelaxed);
        event.counter = &counter;
    };
    Trace(self->worker, &TraceHooks::wait, what);
    SuspendTo(self, Destination::ToWaiting);
    self->waitsFor.store(nullptr, kRelaxed);  // for reports
    Trace(self->worker, &TraceHooks::resume, what);
}

// Pinned meanwhile; so are the waits of tasks that this one helps with.
void WaitOnThisWorker(Fiber *self, Counter &counter, uint32_t value) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    // The thread does not detach before this is over. It has not detached yet, so there is nothing to refuse.
    const bool bind = scheduler.IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    HelpOrSuspend(self, counter, value);
    self->pinnedTo = kAnyWorker;
    if (bind) Unbind(scheduler, worker, *worker);
}

}  // namespace

bool IsSatisfied(Counter &counter, uint32_t value) noexcept {
    return CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Satisfies(value);
}

void Wait(Worker *worker, Counter &counter, uint32_t value, Resume resume) noexcept {
    FlushPending(worker);
    if (IsSatisfied(counter, value)) return;
    Fiber *self = worker->current;
    UnclaimRest(worker);
    if (resume == Resume::SameWorker && self->pinnedTo == kAnyWorker) {
        WaitOnThisWorker(self, counter, value);
    } else {
        HelpOrSuspend(self, counter, value);
    }
}

void SubmitAndWait(Worker *worker, uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    Fiber *self = worker->current;
    Scheduler &scheduler = *worker->scheduler;
    Counter counter;
    // Not what belongs to another worker, or needs a permit (low_limit.h).
    const bool low = options.priority == Priority::Low && scheduler.options.maxLowWorkers != 0;
    const bool runFirst =
        options.worker == kAnyWorker && (!low || self->holdsLow) && MayHelp(self, scheduler, options.stack);
    const uint32_t published = runFirst ? count - 1 : count;
    UnclaimRest(worker);  // below what is published now: the wait looks for that at the bottom of the deque
    if (published != 0 && !Submit(worker, published, tasks + (count - published), &counter, options)) return;
    if (runFirst) {
        if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, 1, &counter, options);
        RunHere(self, tasks[0], options.name);
    }
    if (published != 0) Wait(self->worker, counter, 0, Resume::AnyWorker);
}

void YieldFiber(Worker *worker) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    // A thread that polls never sleeps, and sleeping is when idleness is noticed.
    if (self->IsThreadStack()) AnswerIdleRequests(*worker->scheduler, worker);
    worker->taskBeforeReady = true;
    SuspendTo(self, Destination::ToReady);
}

}  // namespace weft::internal
