// Implements RunPinnedTasks. RunPinned suspends its caller as a Pump. The loops of the worker run
// pinned work (FindPumped) and return to the caller.
#include "scheduler/wait/pump.h"

#include "scheduler/find/claim.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/run_task.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/wait/fiber_switch.h"
#include "scheduler/wait/idle_requests.h"

namespace weft::internal {

namespace {

// Claims a pinned task of any priority.
Found AnyTask(Worker *worker, bool anyStack) noexcept {
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i)
        found = PinnedTask(worker, static_cast<Priority>(i), anyStack);
    return found;
}

// Runs the worker's claim on the caller's stack, on top of its frames.
void RunHere(Fiber *self) noexcept {
    const bool outer = self->runsTask;
    const Awaits awaits(self, self->worker->claim.counter);
    self->runsTask = true;
    RunClaim(self);
    FlushPending(self->worker);
    self->runsTask = outer;
}

}  // namespace

// A task runs on the caller's own stack only if no small fiber is free. If that task waits, the
// caller cannot continue.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    SortInbox(worker);
    if (!HasPinned(worker)) return 0;
    const uint32_t outerPin = self->pinnedTo;
    // The pinned work may include the attached thread's own fiber, which then continues with the
    // host's code. The thread must not detach before this is over. It has not detached yet, so the
    // count is raised without a check (Bind).
    const bool bind = outerPin == kAnyWorker && worker->scheduler->IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(*worker->scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    worker->taskBeforeReady = false;  // a fiber that yielded earlier has had its turn
    uint32_t ran = 0;
    for (bool again = true; again;) {
        Pump pump{self, max - ran, 0, worker->pump};
        worker->pump = &pump;
        SuspendTo(self, Destination::None);
        ran += pump.ran;
        again = false;
        if (ran == max || worker->scheduler->pool.AnyFree(StackClass::Small)) continue;
        SortInbox(worker);
        again = static_cast<bool>(AnyTask(worker, self->IsThreadStack() || RunsOnLarge(worker)));
        if (!again) continue;
        RunHere(self);
        ++ran;
    }
    self->pinnedTo = outerPin;
    if (bind) Unbind(*worker->scheduler, worker, *worker);
    if (self->IsHost()) AnswerBeforeHost(worker);
    return ran;
}

}  // namespace weft::internal
