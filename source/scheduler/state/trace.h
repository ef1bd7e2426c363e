// Calls of the host's trace hooks. If no hook is set, each place costs one predictable branch.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Calls `hook`, unless it is null. The worker and its current fiber are set in the event already;
/// `fill` sets the other fields.
template <class Fill>
WEFT_NOINLINE void CallHook(Worker *worker, TraceHook hook, Fill fill) noexcept {
    if (hook == nullptr) return;
    TraceEvent event{worker->index, worker->current->index, kAnyWorker, 0, nullptr, nullptr};
    fill(event);
    const bool outer = worker->inHook;
    worker->inHook = true;  // calls that wait are refused
    {
        // A hook may keep data for each worker. The race finder must not report accesses to it.
        const race::Unwatched unwatched;
        hook(event, worker->scheduler->options.trace.user);
    }
    worker->inHook = outer;
}

/// Calls the hook if there are any hooks.
template <class Fill>
void Trace(Worker *worker, TraceHook TraceHooks::*hook, Fill fill) noexcept {
    const TraceHooks *hooks = worker->scheduler->trace;
    if (WEFT_UNLIKELY(hooks != nullptr)) CallHook(worker, hooks->*hook, fill);
}

/// The same where the worker may be between two tasks. The hook must not submit there, because the
/// end of the run would not see these tasks.
template <class Fill>
void TraceBetweenTasks(Worker *worker, TraceHook TraceHooks::*hook, Fill fill) noexcept {
    const TraceHooks *hooks = worker->scheduler->trace;
    if (WEFT_LIKELY(hooks == nullptr)) return;
    worker->mustNotSubmit = true;
    CallHook(worker, hooks->*hook, fill);
    worker->mustNotSubmit = false;
}

/// Calls the submit hook, if there is one.
inline void TraceSubmit(Worker *worker, uint32_t count, const Counter *counter,
                        const char *name) noexcept {
    Trace(worker, &TraceHooks::submit, [&](TraceEvent &event) {
        event.count = count;
        event.task = name;
        event.counter = counter;
    });
}

}  // namespace weft::internal
