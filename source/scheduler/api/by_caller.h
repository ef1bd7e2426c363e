// Public calls that a worker and an external thread make in different ways.
#pragma once

#include "platform/compiler.h"
#include "scheduler/api/api_checks.h"
#include "scheduler/state/external_call.h"

namespace weft::internal {

/// Calls `onWorker(worker)` if the caller is a worker of the scheduler, and
/// `onExternal(externalCall)` if not. Returns the result. `call`: name of the public call.
template <class OnWorker, class OnExternal>
WEFT_FORCEINLINE auto ByCaller(TaskScheduler &scheduler, const char *call, OnWorker onWorker,
                               OnExternal onExternal) noexcept {
    Worker *worker = WorkerOf(scheduler);
    if (WEFT_LIKELY(worker != nullptr)) return onWorker(worker);
    ExternalCall externalCall(scheduler, call);
    return onExternal(externalCall);
}

/// The same for a call that waits. Returns `refused`, after a report, if the caller must not wait,
/// or may not enter the scheduler.
template <class Result, class OnWorker, class OnExternal>
WEFT_FORCEINLINE Result WaitByCaller(TaskScheduler &scheduler, const char *call, Result refused,
                                     OnWorker onWorker, OnExternal onExternal) noexcept {
    return ByCaller(
        scheduler, call,
        [&](Worker *worker) { return MayWait(worker, call) ? onWorker(worker) : refused; },
        [&](ExternalCall &externalCall) {
            return externalCall.MayEnter(call) ? onExternal(externalCall) : refused;
        });
}

}  // namespace weft::internal
