// Implements weft/testing/explore_orders.h.
#include "weft/testing/explore_orders.h"

#include "scheduler/api/caller.h"
#include "scheduler/policy/ordered.h"

namespace weft {

using namespace internal;

// If the run is given up (policy/ordered.h), this thread continues here, although its wait is not
// over. The tasks that are left never run again. Stop deletes their stacks, so nothing here may
// refer to them: the wait record is off the counter already.
bool internal::RunOrdered(TaskScheduler &taskScheduler, const Task &main, bool reports,
                          uint64_t &choices) noexcept {
    Worker *const worker = CallingWorker(taskScheduler, "RunOrdered");
    if (worker == nullptr) return false;
    Order &order = *worker->scheduler->order;
    order.tells = reports;
    order.host = worker->current;
    Counter done;
    Submit(*worker->scheduler, worker, 1, &main, &done, {Priority::Normal, kAnyWorker, "test"});
    Wait(*worker, {done});
    if (!order.isGivenUp) WaitIdle({*worker->scheduler, worker->current, nullptr});
    order.host = nullptr;
    choices = order.choices;
    return !order.isGivenUp;
}

}  // namespace weft
