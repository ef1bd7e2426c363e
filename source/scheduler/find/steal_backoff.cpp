// Implements steal_backoff.h.
#include "scheduler/find/steal_backoff.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Returns a number that changes when one of a few other workers submits, or has finished a claim:
// the last victim and the three workers that follow it. Each check costs a transfer of the worker's
// cache line, and another one when the owner takes it back. relaxed: a hint.
uint64_t ActivityOfOthers(const Worker *worker) noexcept {
    constexpr uint32_t kLooksAt = 4;
    const uint32_t count = worker->scheduler->Slots();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < std::min(count, kLooksAt); ++i) {
        const Worker &other = VictimAt(worker, i, count);
        if (&other != worker) sum += other.submitted.load(kRelaxed) + other.finished.load(kRelaxed);
    }
    return sum;
}

}  // namespace

void NoteProfit(const Tuning &tuning, KeepsAway &from, uint64_t begin, uint64_t end,
                uint64_t pieces) noexcept {
    const bool isProfit = end - begin >= tuning.profitableSteal * pieces;
    from.penalty =
        isProfit ? 0 : std::clamp(from.penalty * 2, tuning.firstPenalty, tuning.maxStealPenalty);
    from.until = end + from.penalty;
}

void BeginVisit(Worker *worker, uint64_t now) noexcept {
    if (worker->visitBegan != 0) return;
    worker->visitBegan = now;
    worker->visitSuspensions = worker->suspensions.load(kRelaxed);  // only the owner writes it
}

void EndVisit(Worker *worker) noexcept {
    const uint64_t suspensions = worker->suspensions.load(kRelaxed) - worker->visitSuspensions;
    NoteProfit(worker->scheduler->tuning, worker->fromFibers, worker->visitBegan, env::Ticks(),
               suspensions + 1);
    worker->visitBegan = 0;
}

bool MaySteal(Worker *worker, uint64_t now) noexcept {
    const Tuning &tuning = worker->scheduler->tuning;
    // It is never further ahead than that. If it is, the tick counter has begun anew.
    if (worker->lookAgainAt - now - 1 < tuning.maxStealPenalty) return false;
    const uint64_t activity = ActivityOfOthers(worker);
    const bool changed = activity != worker->activitySeen;
    const bool wasQuiet = now - worker->activityChangedAt >= tuning.quiet;
    const bool keepsAway = !worker->fromTasks.IsOver(now);
    if (changed) {
        worker->activitySeen = activity;
        worker->activityChangedAt = now;
    }
    if (wasQuiet) {
        worker->lookInterval = tuning.firstLookInterval;
    } else if (changed) {
        worker->lookInterval =
            std::min(worker->lookInterval * 2, keepsAway ? tuning.maxStealPenalty : tuning.quiet);
    }
    worker->lookAgainAt = now + worker->lookInterval;
    return wasQuiet || !keepsAway;
}

}  // namespace weft::internal
