// What a worker runs next: NextWork decides. NextPlain, and waits that run tasks inline, are
// shortcuts for the case that nothing else is due.
#pragma once

#include "platform/compiler.h"
#include "scheduler/policy/fair.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns what the worker runs next; nothing if it can run nothing now. Counts off all finished
/// tasks first.
Work NextWork(Worker &worker) noexcept;

/// Pops the newest own entry of the usual level, unless it is a fiber, or something else is due. If
/// finished tasks are not counted yet, the entry has to be of the same counter. Returns false if
/// NextWork has to decide.
WEFT_FORCEINLINE bool NextPlain(Worker &worker, Entry &entry) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) return false;
    const bool calls = (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
                       worker.filter.isSpecial || worker.handOver.last != nullptr ||
                       !worker.inbox.LooksEmpty();
    if (WEFT_UNLIKELY(calls)) return false;
    const Finished &finished = worker.finished;
    return worker.queue[worker.filter.home.Index()].PopIf(entry, [&](const Entry &next) {
        return next.TheKind() != Entry::Fiber &&
               (finished.tasks == 0 || next.TheCounter() == finished.counter);
    });
}

/// The slow path of Point. Also counts finished tasks for waiters of values above zero, and gives a
/// part of the chunk that runs to workers that search.
bool AttendNow(Worker &worker) noexcept;
/// A scheduling point of a call that goes on without NextWork: an inline task, or a wait that is
/// over already. Counts as a pick. Returns true if the worker should look for other work first.
WEFT_FORCEINLINE bool Point(Worker &worker) noexcept {
    CountPick(worker);
    const bool calls = (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
                       worker.filter.isSpecial || worker.handOver.isQuiet || worker.fair.isUrgent ||
                       !worker.inbox.LooksEmpty();
    return WEFT_UNLIKELY(calls) && AttendNow(worker);
}

}  // namespace weft::internal
