// What a worker runs next: NextWork decides. NextPlain, NextReady, and waits that run
// tasks inline, are shortcuts for the case that nothing else is due.
#pragma once

#include "platform/compiler.h"
#include "scheduler/policy/fair.h"
#include "scheduler/policy/places.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns what the worker runs next; nothing if it can run nothing now. Counts off all finished
/// tasks first. `inTurn`: takes the oldest entry of each level and place in turn. It is for a
/// worker that looks for a fiber among tasks that cannot begin.
Work NextWork(Worker &worker, bool inTurn = false) noexcept;

/// Returns true if something else may be due.
WEFT_FORCEINLINE bool IsCalled(const Worker &worker) noexcept {
    return (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
           worker.filter.isSpecial || worker.fair.isUrgent || !worker.inbox.LooksEmpty();
}

/// Takes the fiber that the worker has made ready last, if nothing is before it, and nothing else
/// is due. Returns null if NextWork has to decide.
WEFT_FORCEINLINE Fiber *NextReady(Worker &worker) noexcept {
    HandOver &handOver = worker.handOver;
    const uint32_t levels = LevelsToLookAt(worker), highest = levels & (0u - levels);
    const bool calls = handOver.last == nullptr || worker.fair.budget == 0 ||
                       worker.finished.tasks != 0 || IsCalled(worker) ||
                       highest != handOver.level.Bit();
    if (WEFT_UNLIKELY(calls)) return nullptr;
    Entry entry;
    const bool takes = worker.queue[handOver.level.Index()].PopIf(
        entry, [&](const Entry &next) { return handOver.Is(next); });
    if (!takes) return nullptr;
    handOver.last = nullptr;
    handOver.isQuiet = false;
    return &entry.TheFiber();
}

/// Pops the newest own entry of the usual level, unless it is a fiber, or something else is due. If
/// finished tasks are not counted yet, the entry has to be of the same counter. Returns false if
/// NextWork has to decide.
WEFT_FORCEINLINE bool NextPlain(Worker &worker, Entry &entry) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) return false;
    if (WEFT_UNLIKELY(IsCalled(worker) || worker.handOver.last != nullptr)) return false;
    const Finished &finished = worker.finished;
    return worker.queue[worker.filter.home.Index()].PopIf(entry, [&](const Entry &next) {
        return next.TheKind() != Entry::Fiber && finished.MayFollow(next.TheCounter());
    });
}

/// The slow path of Point. Also counts finished tasks for waiters of values above zero.
bool AttendNow(Worker &worker) noexcept;
/// A scheduling point of a call that goes on without NextWork: an inline task, or a wait that is
/// over already. Counts as a pick. Returns true if the worker should look for other work first.
WEFT_FORCEINLINE bool Point(Worker &worker) noexcept {
    CountPick(worker);
    return WEFT_UNLIKELY(IsCalled(worker) || worker.handOver.isQuiet) && AttendNow(worker);
}

}  // namespace weft::internal
