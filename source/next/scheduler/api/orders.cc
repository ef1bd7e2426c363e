// What ExploreOrders needs (weft/testing/explore_orders.h). There are no drawn orders yet: the
// tasks run in the usual order.
#include "weft/testing/explore_orders.h"

#include "scheduler/api/api_checks.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/wait.h"
#include "scheduler/wait/wait_idle.h"

namespace weft {

using namespace internal;

bool internal::RunOrdered(TaskScheduler &taskScheduler, const Task &main, bool,
                          uint64_t &choices) noexcept {
    Worker *const worker = CallingWorker(taskScheduler, "RunOrdered");
    if (worker == nullptr) return false;
    Counter done;
    Submit(*worker->scheduler, worker, 1, &main, &done,
           {Priority::Normal, StackClass::Large, kAnyWorker, "test"});
    Wait(*worker, {done});
    WaitIdleHere(*worker);
    choices = 0;
    return true;
}

}  // namespace weft
