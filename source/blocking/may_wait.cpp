#include "blocking/may_wait.h"

#include "scheduler/call.h"

namespace weft::internal {

bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept {
    const Worker *const worker = WorkerOf(scheduler);
    return worker != nullptr && MayWait(worker, call);
}

}  // namespace weft::internal
