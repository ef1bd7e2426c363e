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

/// Calls ask(scheduler) for a query about the running scheduler, or ask(nullptr) if it does not run
/// or the caller cannot know. Returns the result.
template <class Ask>
auto Query(const TaskScheduler &taskScheduler, Ask ask) noexcept {
    const Worker *worker = WorkerThatAsks(taskScheduler);
    if (worker != nullptr) return ask(static_cast<const Scheduler *>(worker->scheduler));
    // in a memory hook the thread may be inside the gate already
    if (MemoryHookCall::Current() != nullptr) return ask(static_cast<const Scheduler *>(nullptr));
    EntryGate::Visit visit(const_cast<TaskScheduler &>(taskScheduler));
    const auto result = ask(static_cast<const Scheduler *>(visit.ComeIn()));
    visit.GoOut();
    return result;
}

}  // namespace weft::internal
