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

Found AnyTask(Worker *worker, bool anyStack) noexcept {
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i)
        found = PinnedTask(worker, static_cast<Priority>(i), anyStack);
    return found;
}

// On top of the caller's frames.
void RunHere(Fiber *self) noexcept {
    const bool outer = self->runsTask;
    const Awaits awaits(self, self->worker->claim.counter);
    self->runsTask = true;
    RunClaim(self);
    FlushPending(self->worker);
    self->runsTask = outer;
}

}  // namespace

// Not on the caller's own stack, unless there is no other: what waits there keeps the caller from
// going on.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    SortInbox(worker);
    if (!HasPinned(worker)) return 0;
    const uint32_t outerPin = self->pinnedTo;
    // Among what is pinned there may be the attached thread itself, which goes on then. It does not
    // detach before this is over. It has not detached yet, so there is nothing to refuse.
    const bool bind = outerPin == kAnyWorker && worker->scheduler->IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(*worker->scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    worker->taskBeforeReady = false;  // who yielded before has had its turn
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
