// Implements next_work.h.
#include "scheduler/policy/next_work.h"

#include "scheduler/policy/ordered.h"
#include "scheduler/policy/own_tasks.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

constexpr uint64_t kFairShare = 5;  // usual picks follow a fair one for so many times its length
constexpr uint64_t kMostFairPause = 4;  // ms: but for no longer
constexpr uint64_t kLevelShare = 8;     // a level gets one part of the time in so many
constexpr uint64_t kMostOwed = 100;     // ms: a level is owed no more than this
constexpr uint32_t kOthersTurn = 4;     // each fourth fair pick begins with others' deques

// Without workers the attached thread must run all tasks in the same order each time. So it does
// not read the real clock: each pick counts as 4 microseconds.
uint64_t TimeOf(const Worker &worker, uint32_t picks) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    if (scheduler.workerCount != 0) return env::Ticks();
    return worker.fair.lookedAt + picks * (scheduler.tuning.millisecond / 250);
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

// Returns true if a fair pick or one of a late level is due, as of the last look.
bool OwesPick(Worker &worker) noexcept {
    return worker.fair.IsDue() || LatestLevel(worker) != kLevels;
}

// Takes work that waits for long: of a late level, or the oldest of the highest level. Returns
// nothing if no such pick is due.
Work PickFair(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    fair.isUrgent = false;
    // Serves a late level until it has had its share: about 100 us, more after long tasks.
    while ((fair.serves = LatestLevel(worker)) != kLevels) {
        if (const Work late = TakeOldest(worker, Level::At(fair.serves), true)) return late;
        fair.late[fair.serves] = fair.lookedAt;
    }
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
        if (level.ThePriority() == Priority::High && AnyOf(worker, level)) return {};
    }
    return {};
}

// If the worker continues the fiber that it has just made ready, it need not wake others for it.
Work Found(Worker &worker, const Work &work) noexcept {
    HandOver &handOver = worker.handOver;
    if (WEFT_UNLIKELY(handOver.isQuiet) && !handOver.Is(work.entry)) EndQuiet(worker);
    handOver.last = nullptr;
    handOver.isQuiet = false;
    return work;
}

// Takes work of the level: pinned work, then the own deque, then the deques of others, then chunks
// that were put behind. Hides the notice of the level if there is none.
Work TakeUsual(Worker &worker, Level level) noexcept {
    if (WEFT_UNLIKELY(worker.filter.isSpecial)) {
        if (const Work work = TakePinned(worker, level.Bit())) return work;
        if (!worker.filter.May(level)) return {};
    }
    if ((worker.holds & level.Bit()) != 0) {
        Work own{{}, level, false};
        if (worker.queue[level.Index()].Pop(own.entry)) return own;
        worker.holds &= ~level.Bit();  // only the owner adds entries
    }
    if (const Work work = Steal(worker, level)) return work;
    if (const Work work = TakeBehind(worker, level)) return work;
    if ((worker.scheduler->notices.Look() & Notices::kLevels & level.Bit()) != 0)
        worker.scheduler->notices.Hide(level.Bit(), [&] {
            return AnyOf(worker, level) || !worker.scheduler->injector.IsEmpty();
        });
    return {};
}

// Takes the oldest work of the next lower level, in rounds. In four rounds each place of a level
// comes first once (TakeOldest). An earlier call may have begun the first round.
Work PickInTurn(Worker &worker) noexcept {
    Fairness &fair = worker.fair;
    for (uint32_t rounds = 0; rounds <= 4; ++rounds, ++fair.turn, fair.nextInTurn = 0) {
        for (uint32_t levels; (levels = LevelsToLookAt(worker) & (~0u << fair.nextInTurn)) != 0;) {
            const uint32_t level = LowestBit(levels);
            fair.nextInTurn = level + 1;
            const bool othersFirst = fair.turn / 2 % 2 == 0;
            if (const Work work = TakeOldest(worker, Level::At(level), othersFirst)) return work;
        }
    }
    return {};
}

Work Pick(Worker &worker, bool inTurn, bool wasDue) noexcept {
    if (WEFT_UNLIKELY(worker.ownWaits != nullptr)) return PickOwn(worker);
    if (WEFT_UNLIKELY(inTurn)) return PickInTurn(worker);
    Fairness &fair = worker.fair;
    // What was due is the newest entry of its level. A fair pick would leave it behind.
    fair.isPutOff = wasDue && fair.isUrgent && !fair.isPutOff;
    if (WEFT_UNLIKELY(fair.isUrgent)) {
        fair.budget = 1;  // look at the clock after this one
        fair.isOne = true;
        if (const Work work = fair.isPutOff ? Work() : PickFair(worker)) return work;
    }
    for (uint32_t levels = LevelsToLookAt(worker); levels != 0; levels &= levels - 1) {
        if (const Work work = TakeUsual(worker, Level::At(LowestBit(levels)))) return work;
    }
    return {};
}

}  // namespace

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
    uint32_t mostPicks = Fairness::kMostPicks;
    constexpr uint32_t kParts = Fairness::kMostPicks / Fairness::kShortPicks;
    if (took * kParts > picks * worker.scheduler->tuning.shortPick) {
        const uint64_t fit = millisecond / 10 / (took / picks + 1);
        mostPicks = 1u << HighestBit(std::clamp<uint64_t>(fit, 1, Fairness::kMostPicks));
    }
    fair.budget = fair.period = std::min(isOne ? fair.period : 2 * fair.period, mostPicks);
    if (std::exchange(fair.wasFair, false)) {
        const uint64_t pause = std::min(kFairShare * took, kMostFairPause * millisecond);
        fair.fairAt = now + std::max(pause, millisecond / (fair.othersWait ? 5 : 1));
        fair.othersWait = fair.othersWait || took > millisecond / 2;
    }
    // Pinned work lies on the list of its priority, whatever its group is.
    const Fiber &ran = *worker.current;
    const bool wasPinned = ran.pinnedTo != kAnyWorker;
    uint64_t &late = fair.late[(wasPinned ? Level(ran.level.ThePriority()) : ran.level).Index()];
    const uint64_t most = std::min(kMostOwed * millisecond, now);
    late = std::clamp(late + kLevelShare * took, now - most, now + most);
    const bool counts = now >= fair.countAt;
    if (counts) fair.countAt = now + millisecond / 20;
    fair.isUrgent = counts || OwesPick(worker);
}

Work NextWork(Worker &worker, bool inTurn) noexcept {
    Flush(worker, true);
    if (worker.fair.budget == 0) ReadClock(worker);
    // A fiber pumps, and no wait with OwnTasks has begun on top of it.
    if (WEFT_UNLIKELY(worker.comesNext != nullptr) &&
        (worker.ownWaits == nullptr || worker.ownWaits->pump != worker.comesNext)) {
        Fiber &fiber = *std::exchange(worker.comesNext, nullptr);
        return Found(worker, {Entry::Of(fiber), fiber.level, false});
    }
    if (WEFT_UNLIKELY(worker.filter.isSpecial) && IsOrdered(*worker.scheduler))
        return Found(worker, DrawNext(worker));
    for (;;) {
        const Work work = Pick(worker, inTurn, TakeArrivals(worker));
        if (WEFT_LIKELY(!IsStale(worker)) || work.isPinned) return Found(worker, work);
        // It may have been submitted after the change. So the worker asks again what it may run.
        if (work) PushEntry(worker, work.level, work.entry);
    }
}

bool AttendNow(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    Fairness &fair = worker.fair;
    const bool isForValue = scheduler.notices.Has(Notices::kForValue);
    if (WEFT_UNLIKELY(isForValue || fair.isUrgent)) Flush(worker);
    if (isForValue) scheduler.counters.HideForValue();
    if (worker.handOver.isQuiet) EndQuiet(worker);
    if (IsOrdered(scheduler)) return true;  // the callers draw
    // PickOwn and a fiber that pumps find what AnyWork does not look at.
    fair.isUrgent = fair.isUrgent && OwesPick(worker) &&
                    (worker.ownWaits != nullptr || worker.comesNext != nullptr || AnyWork(worker));
    const uint32_t seen = scheduler.notices.Look();
    const Priority own = worker.current->level.ThePriority();
    const uint32_t higher = own == Priority::High ? 0 : kHighLevels;
    const uint32_t same = LevelsOf(1, static_cast<uint32_t>(own) + 1);
    return fair.isUrgent || (seen & worker.filter.may & higher) != 0 ||
           (worker.filter.pinned & same) != 0 || !worker.inbox.LooksEmpty() ||
           !scheduler.injector.LooksEmpty() ||
           ((seen & Notices::kTimed) != 0 && scheduler.timers.MayBeDue());
}

}  // namespace weft::internal
