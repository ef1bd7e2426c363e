// What a worker runs next: NextWork decides. NextPlain, NextReady, and waits that run tasks inline,
// are shortcuts for the case that nothing else is due.
//
// The usual order takes the highest level first, and of a level the newest entry. So an old entry,
// or a lower level, could wait for ever. Two rules bound that. Each is a share of the time, also if
// tasks are long.
//
//  fair pick   After a millisecond a worker takes the oldest entry of the highest level: a chunk
//              that was put behind the others, or else one of its own deque. Every fourth one tries
//              to steal first, from all others in turn. If it finds work, the next one is due after
//              200 us. After that, and after a fair pick of more than half a millisecond, every
//              second one steals. Usual picks follow a fair one for five times as long as it took,
//              but for 4 ms at most: the system may have stopped the thread meanwhile. A task that
//              yields makes the next pick a fair one. If a deadline was due, the work that waited
//              for it comes before the fair pick.
//  late level  Each level but the first gets up to an eighth of a worker's time while it has work.
//              If it is behind by half a millisecond (`late`), its oldest entry comes next. The
//              time counts from the first look that has found work of the level.
//
// Inline tasks, tasks of a chunk, and waits that are over already count as picks. The worker reads
// the clock after 128 picks, or after fewer if 128 would take more than 100 us. This number at most
// doubles from one reading to the next, because tasks may suddenly become long. If tasks take
// longer than 3 us, a chunk goes back to the deque before each of its tasks, so that others find
// the rest. If others are idle and find nothing else, the clock is read sooner. Every 50 us a
// reading of the clock also makes the worker lower the counters of its finished tasks.
#pragma once

#include "platform/compiler.h"
#include "scheduler/policy/places.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns what the worker runs next; nothing if it can run nothing now. Counts off all finished
/// tasks first. `inTurn`: takes the oldest entry of each level and place in turn. It is for a
/// worker that looks for a fiber among tasks that cannot begin.
Work NextWork(Worker &worker, bool inTurn = false) noexcept;

/// Reads the clock, and charges the time since the last look to the level of the running fiber.
/// Says whether something other than the usual order is due (Fairness::isUrgent).
void ReadClock(Worker &worker) noexcept;

/// Starts the clock, when the worker begins and after it was idle. It then owes nothing to any
/// level.
void StartClock(Worker &worker) noexcept;

/// Returns true if something else may be due. Looks for work from outside after each reading of the
/// clock: a look at each pick would slow the threads that submit it.
WEFT_FORCEINLINE bool IsCalled(const Worker &worker) noexcept {
    return (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
           worker.filter.isSpecial || worker.fair.isUrgent || !worker.inbox.LooksEmpty() ||
           (worker.fair.budget == worker.fair.period && !worker.scheduler->injector.LooksEmpty());
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

/// Pops the newest own entry of the first Normal level that has one, unless it is a fiber, or
/// something else is due. If finished tasks are not counted yet, the entry has to be of the same
/// counter. Returns false if NextWork has to decide.
WEFT_FORCEINLINE bool NextPlain(Worker &worker, Entry &entry, Level &level) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) return false;
    if (WEFT_UNLIKELY(IsCalled(worker) || worker.handOver.last != nullptr)) return false;
    level = worker.filter.home;
    const uint32_t held = worker.holds & worker.filter.may & kNormalLevels;
    if (WEFT_UNLIKELY((held & level.Bit()) == 0)) {
        if (held == 0) return false;
        level = Level::At(LowestBit(held));
    }
    const Finished &finished = worker.finished;
    return worker.queue[level.Index()].PopIf(entry, [&](const Entry &next) {
        return next.TheKind() != Entry::Fiber && finished.MayFollow(next.TheCounter());
    });
}

/// The slow path of Point. Also counts finished tasks for waiters of values above zero.
bool AttendNow(Worker &worker) noexcept;
/// A scheduling point of a call that goes on without NextWork: an inline task, or a wait that is
/// over already. Counts as a pick. Returns true if the worker should look for other work first.
WEFT_FORCEINLINE bool Point(Worker &worker) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) ReadClock(worker);
    return WEFT_UNLIKELY(IsCalled(worker) || worker.handOver.isQuiet) && AttendNow(worker);
}

}  // namespace weft::internal
