// Implements urgent.h.
#include "scheduler/wait/urgent.h"

#include "scheduler/find/arrivals.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/find_work.h"
#include "scheduler/find/ordered.h"
#include "scheduler/find/pinned.h"
#include "scheduler/submit/pending.h"
#include "scheduler/wait/fiber_switch.h"
#include "scheduler/wait/idle_requests.h"

namespace weft::internal {

namespace {

// Returns a free fiber on which a loop will run the claim. If there is none, puts the claim back
// and returns null.
Fiber *FiberForClaim(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t fiber = scheduler.pool.AcquireFiber(worker->claim.stack, worker->index);
    if (fiber != FiberPool::kNone) return &scheduler.fibers[fiber];
    PutClaimBack(worker);
    return nullptr;
}

}  // namespace

void YieldToUrgentNow(Fiber *self) noexcept {
    Worker *worker = self->worker;
    FlushPending(worker);
    UnclaimRest(worker);
    AnswerAsk(worker);
    if (worker->pump != nullptr) {  // a pumping worker runs only pinned work, in its order
        SortInbox(worker);
        TakeArrivals(worker, Priority::High);
        return;
    }
    const Found found = WEFT_UNLIKELY(worker->scheduler->order.isOn)
                            ? FindInstead(worker)
                            : FindUrgent(worker, self->level.ThePriority());
    if (!found) return;
    Fiber *next = found.fiber != nullptr ? found.fiber : FiberForClaim(worker);
    if (next == nullptr) return;
    SwitchTo(self, next, Destination::ToReady);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(self->worker);
}

}  // namespace weft::internal
