#include "blocking/may_wait.h"

#include "scheduler/call.h"

namespace weft::internal {

bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept {
    const Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr) return MayWait(worker, call);
    IsRefusedInMemoryHook(Gate::OptionsOf(scheduler), call);
    return false;
}

}  // namespace weft::internal
