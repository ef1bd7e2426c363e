// What PollUntil needs of the scheduler, in addition to SleepUntil.
#include "weft/poll.h"

#include "scheduler/api/api_checks.h"

namespace weft::internal {

bool MayWaitHere(const TaskScheduler &scheduler, const char *call) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr) return MayWait(worker, call);
    return !IsRefusedInMemoryHook(EntryGate::OptionsOf(scheduler), call);
}

}  // namespace weft::internal
