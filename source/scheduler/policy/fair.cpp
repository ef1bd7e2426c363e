// Implements fair.h.
#include "scheduler/policy/fair.h"

#include "scheduler/policy/places.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

constexpr uint64_t kFairShare = 5;       // usual picks follow for so many times a fair one's time
constexpr uint64_t kMostFairPicks = 50;  // in a millisecond; one may cost 0.5 us
constexpr uint64_t kLevelShare = 8;      // a level gets one part of the time in so many
constexpr uint64_t kMostOwed = 100;      // ms: a level is owed no more than this
constexpr uint32_t kOthersTurn = 4;      // each fourth fair pick begins with others' deques

// Without workers the attached thread must run all tasks in the same order each time. So it does
// not read the real clock: each pick counts as a microsecond.
uint64_t TimeOf(const Worker &worker, uint32_t picks) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    return scheduler.workerCount != 0
               ? env::Ticks()
               : worker.fair.lookedAt + picks * (scheduler.tuning.millisecond / 1000);
}

// The level that is late the longest, or kLevels. A level without work is not late. Nor is one
// whose work was not there at the look before: it may have come just now, after a long task.
uint32_t LatestLevel(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    const uint64_t tolerance = worker.scheduler->tuning.millisecond / 2;
    uint32_t latest = kLevels;
    for (uint32_t levels = LevelsToLookAt(worker) & ~1u; levels != 0; levels &= levels - 1) {
        const uint32_t level = LowestBit(levels);
        if (fair.late[level] + (fair.serves == level ? 0 : tolerance) >= fair.lookedAt) continue;
        const bool any = AnyOf(worker, Level::At(level)), isNew = (fair.seen >> level & 1) == 0;
        fair.seen = (fair.seen & ~(1u << level)) | uint32_t{any} << level;
        if (!any || isNew)
            fair.late[level] = fair.lookedAt;
        else if (latest == kLevels || fair.late[level] < fair.late[latest])
            latest = level;
    }
    return latest;
}

// Serves a late level until it has had its share: about 100 us, more after long tasks.
Work PickLate(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    for (uint32_t latest; (latest = LatestLevel(worker)) != kLevels;
         fair.late[latest] = fair.lookedAt) {
        fair.serves = latest;
        if (const Work work = TakeOldest(worker, Level::At(latest), true)) return work;
    }
    fair.serves = kLevels;
    return {};
}

}  // namespace

bool OwesPick(Worker &worker) noexcept {
    return worker.fair.IsDue() || LatestLevel(worker) != kLevels;
}

void StartClock(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    const uint64_t now = TimeOf(worker, 0);
    if (now < fair.lookedAt) fair = {};  // the ticks have begun anew
    fair.lookedAt = now;
    fair.seen = 0;
    fair.budget = fair.period = 1;  // nothing is known of the next tasks
    fair.fairAt = std::max(fair.fairAt, now + worker.scheduler->tuning.millisecond);
    fair.countAt = now + worker.scheduler->tuning.millisecond / 20;
    for (uint64_t &late : fair.late) late = std::max(late, fair.lookedAt);
}

void ReadClock(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    const uint64_t millisecond = worker.scheduler->tuning.millisecond;
    const bool isOne = std::exchange(fair.isOne, false);
    const uint32_t picks = isOne ? 1 : std::max(fair.period - fair.budget, 1u);
    const uint64_t now = TimeOf(worker, picks);
    if (WEFT_UNLIKELY(now < fair.lookedAt)) return StartClock(worker);  // they have begun anew
    const uint64_t took = now - fair.lookedAt;
    fair.lookedAt = now;
    fair.picks += picks;
    uint32_t mostPicks = Fairness::kMostPicks;
    constexpr uint32_t kParts = Fairness::kMostPicks / Fairness::kShortPicks;
    if (took * kParts > picks * worker.scheduler->tuning.shortPick) {
        const uint64_t fit = millisecond / 10 / (took / picks + 1);
        mostPicks = 1u << HighestBit(std::clamp<uint64_t>(fit, 1, Fairness::kMostPicks));
    }
    fair.budget = fair.period = std::min(isOne ? fair.period : 2 * fair.period, mostPicks);
    if (fair.wasFair) {
        fair.fairAfter = now + std::max(kFairShare * took, millisecond / kMostFairPicks);
        fair.fairAt = std::max(now + millisecond / (fair.othersWait ? 5 : 1), fair.fairAfter);
        fair.picks = 0;
        fair.wasFair = false;
    }
    // Pinned work lies on the list of its priority, whatever its group is.
    const Fiber &ran = *worker.current;
    const bool wasPinned = ran.pinnedTo != kAnyWorker;
    uint64_t &late = fair.late[(wasPinned ? Level(ran.level.priority) : ran.level).Index()];
    const uint64_t most = std::min(kMostOwed * millisecond, now);
    late = std::clamp(late + kLevelShare * took, now - most, now + most);
    const bool counts = now >= fair.countAt;
    if (counts) fair.countAt = now + millisecond / 20;
    fair.isUrgent = counts || OwesPick(worker);
}

Work PickFair(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    fair.isUrgent = false;
    fair.budget = 1;  // look at the clock after this one
    fair.isOne = true;
    if (const Work late = PickLate(worker)) return late;
    if (!fair.IsDue()) return {};
    const bool othersFirst = ++fair.turn % (fair.othersWait ? 2 : kOthersTurn) == 0;
    const uint64_t stoleAt = worker.thief.stoleAt;
    for (uint32_t levels = LevelsToLookAt(worker); levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (const Work work = TakeOldest(worker, level, othersFirst)) {
            fair.isAsked = false;
            fair.wasFair = true;
            if (othersFirst) fair.othersWait = worker.thief.stoleAt != stoleAt;
            if (work.entry.TheKind() == Entry::Chunk) work.entry.TheChunk().isOld = true;
            return work;
        }
        // High work in other deques goes before lower work. The usual order finds it.
        if (level.priority == Priority::High && AnyOf(worker, level)) return {};
    }
    return {};
}

}  // namespace weft::internal
