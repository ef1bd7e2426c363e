#include "scheduler/turn.h"

#include "scheduler/arrivals.h"
#include "scheduler/claim.h"
#include "scheduler/fiber_switch.h"
#include "scheduler/foreign.h"
#include "scheduler/pinned.h"
#include "scheduler/post.h"

namespace weft::internal {

namespace {

// The fiber on which a loop runs the claim. Null: there is none, and the claim has been put back.
Fiber *FiberForClaim(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(worker->claim.stack, worker->index);
    if (fiber != FiberPool::kNone) return &scheduler.fibers[fiber];
    PutClaimBack(worker);
    return nullptr;
}

}  // namespace

void GiveTurnNow(Fiber *self) noexcept {
    Worker *worker = self->worker;
    FlushPending(worker);
    UnclaimRest(worker);
    AnswerAsk(worker);
    if (worker->pump != nullptr) {  // it runs only what is pinned, in its order
        SortMail(worker);
        return TakeArrivals(worker, Priority::High), void();
    }
    const Found found = FindBefore(worker, self->level.ThePriority());
    if (!found) return;
    Fiber *next = found.fiber != nullptr ? found.fiber : FiberForClaim(worker);
    if (next == nullptr) return;
    SwitchTo(self, next, Destination::ToReady);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(self->worker);
}

}  // namespace weft::internal
