// What a worker runs next. No other function decides this.
#pragma once

#include "platform/compiler.h"
#include "scheduler/policy/fair.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns what the worker runs next; nothing if it can run nothing now. Counts off all finished
/// tasks first.
Work NextWork(Worker &worker) noexcept;

/// The usual case of NextWork, made short: there is nothing but the newest own entry of the usual
/// level. A finished task is not counted off if the worker goes on with one of the same counter.
/// Returns false if NextWork has to decide.
WEFT_FORCEINLINE bool NextPlain(Worker &worker, Entry &entry) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) return false;
    const bool calls = (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
                       worker.filter.isSpecial || worker.handOver.last != nullptr ||
                       !worker.inbox.LooksEmpty();
    if (WEFT_UNLIKELY(calls)) return false;
    const Finished &finished = worker.finished;
    return worker.queue[worker.filter.home.index].PopIf(entry, [&](const Entry &next) {
        return finished.tasks == 0 || next.TheCounter() == finished.counter;
    });
}

/// A scheduling point of a call that goes on without NextWork: an inline task, a task of a chunk, a
/// wait that is over already. Counts as a pick. Returns true if the worker should look for other
/// work before it goes on.
bool AttendNow(Worker &worker) noexcept;
WEFT_FORCEINLINE bool Point(Worker &worker) noexcept {
    CountPick(worker);
    const bool calls = (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
                       worker.filter.isSpecial || worker.handOver.next != nullptr ||
                       worker.fair.isUrgent || !worker.inbox.LooksEmpty();
    return WEFT_UNLIKELY(calls) && AttendNow(worker);
}

}  // namespace weft::internal
