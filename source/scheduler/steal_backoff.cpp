#include "scheduler/steal_backoff.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Changes whenever somebody else submits, or has finished a claim. A hint: relaxed.
uint64_t ActivityOfOthers(const Worker *worker) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    const uint32_t count = scheduler.Slots();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const Worker &other = scheduler.workers[i];
        if (i != worker->index) sum += other.submitted.load(kRelaxed) + other.finished.load(kRelaxed);
    }
    return sum;
}

}  // namespace

bool MaySteal(Worker *worker, uint64_t now) noexcept {
    if (static_cast<int64_t>(now - worker->lookAgainAt) < 0) return false;
    const Times &times = worker->scheduler->times;
    const uint64_t activity = ActivityOfOthers(worker);
    const bool changed = activity != worker->activitySeen;
    const bool wasQuiet = now - worker->activityChangedAt >= times.quiet;
    const bool keepsAway = static_cast<int64_t>(now - worker->stealAgainAt) < 0;
    if (changed) {
        worker->activitySeen = activity;
        worker->activityChangedAt = now;
    }
    if (wasQuiet) {
        worker->lookInterval = times.firstLookInterval;
    } else if (changed) {
        worker->lookInterval = std::min(worker->lookInterval * 2, keepsAway ? times.maxStealPenalty : times.quiet);
    }
    worker->lookAgainAt = now + worker->lookInterval;
    return wasQuiet || !keepsAway;
}

}  // namespace weft::internal
