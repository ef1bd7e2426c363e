// Fairness: what a worker owes to work that waits for long.
//
// The usual order takes the highest level first, and of a level the newest entry. So an old entry,
// or a lower level, could wait for ever. Two rules bound that. Each is a share of the time, so long
// tasks cannot turn it round.
//
//  fair pick   After 256 picks, or after a millisecond, a worker takes the oldest entry of the
//              highest level instead of the newest: of its own deque, and in turn of others. It is
//              followed by at least five times its own duration of usual picks.
//  late level  Each level is owed an eighth of a worker's time while it has work. `late` says since
//              when it is owed some. A level that is owed more than half a millisecond comes next,
//              its oldest entry first, until it has had its share.
//
// Everything that a worker runs without NextWork counts as a pick: inline tasks, tasks of a chunk,
// waits and yields that go on at once (ShouldLook).
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Reads the clock, and charges the time since the last look to the level of the running fiber.
/// Says whether something other than the usual order is due (Fairness::isUrgent). `picks`: picks
/// since the last look.
void Look(Worker &worker, uint32_t picks) noexcept;

/// The worker begins: the clock starts. Also after it had no work: then it owes nothing.
void StartClock(Worker &worker) noexcept;

/// Counts a pick. After a number of picks that takes about 100 microseconds, looks at the clock.
WEFT_FORCEINLINE void CountPick(Worker &worker) noexcept {
    if (WEFT_UNLIKELY(--worker.fair.budget == 0)) Look(worker, worker.fair.period);
}

/// The next pick is a fair one: the task has yielded.
inline void OweFairPick(Worker &worker) noexcept {
    worker.fair.isUrgent = worker.fair.isAsked = true;
}

/// Takes work that waits for long: of a late level, or the oldest of the highest level. Returns
/// nothing if no such pick is due.
Work PickFair(Worker &worker) noexcept;

}  // namespace weft::internal
