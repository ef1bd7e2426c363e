// Fairness: what a worker owes to work that waits for long.
//
// The usual order takes the highest level first, and of a level the newest entry. So an old entry,
// or a lower level, could wait for ever. Two rules bound that. Each is a share of the time, also if
// tasks are long.
//
//  fair pick   After 256 picks, or after a millisecond, a worker takes the oldest entry of the
//              highest level instead of the newest: a chunk that was put behind the others, or
//              else of its own deque. Every fourth time it tries to steal before its own deque,
//              from all others in turn. If it has found work there, the next fair pick is due after
//              200 us, and every second one steals. Usual picks follow a fair one for at least
//              20 us, and for at least five times as long as it took. A task that yields makes the
//              next pick a fair one, whenever the last one was.
//  late level  Each level but the first gets up to an eighth of a worker's time while it has work.
//  If it
//              is behind by half a millisecond (`late`), its oldest entry comes next. The time
//              counts from the first look that has found work of the level.
//
// Inline tasks, tasks of a chunk, and waits that are over already count as picks. The worker reads
// the clock after 128 picks, or after fewer if 128 would take more than 100 us. This number at most
// doubles from one reading to the next, because tasks may suddenly become long. If tasks take
// longer than 3 us, a chunk goes back to the deque before each of its tasks, so that others find
// the rest. If others are idle and find nothing else, the clock is read sooner. Every 50 us a
// reading of the clock also makes the worker lower the counters of its finished tasks.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Reads the clock, and charges the time since the last look to the level of the running fiber.
/// Says whether something other than the usual order is due (Fairness::isUrgent).
void ReadClock(Worker &worker) noexcept;

/// Starts the clock, when the worker begins and after it was idle. It then owes nothing to any
/// level.
void StartClock(Worker &worker) noexcept;

/// Returns true if tasks take longer than 3 us, or if the worker has just started its clock and
/// does not know yet how long they take.
inline bool IsLong(const Worker &worker) noexcept {
    return worker.fair.period < Fairness::kShortPicks;
}

/// Returns true if a look at the clock would show that tasks take long.
inline bool IsLongNow(const Worker &worker) noexcept {
    const Fairness &fair = worker.fair;
    return env::Ticks() - fair.lookedAt >
           (fair.period - fair.budget + 1) * worker.scheduler->tuning.shortPick;
}

/// Counts a pick. Reads the clock after at most 128 picks (Fairness::period).
WEFT_FORCEINLINE void CountPick(Worker &worker) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) ReadClock(worker);
}

/// The next pick is a fair one: the task has yielded.
inline void OweFairPick(Worker &worker) noexcept {
    worker.fair.isUrgent = worker.fair.isAsked = true;
}

/// Returns true if a fair pick or one of a late level is due, as of the last look.
bool OwesPick(Worker &worker) noexcept;

/// Takes work that waits for long: of a late level, or the oldest of the highest level. Returns
/// nothing if no such pick is due.
Work PickFair(Worker &worker) noexcept;

}  // namespace weft::internal
