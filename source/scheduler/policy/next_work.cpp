// Implements next_work.h.
#include "scheduler/policy/next_work.h"

#include "scheduler/policy/ordered.h"
#include "scheduler/policy/own_tasks.h"
#include "scheduler/policy/places.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/ready.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

// If the worker continues the fiber that it has just made ready, it need not wake others for it.
Work Found(Worker &worker, const Work &work) noexcept {
    HandOver &handOver = worker.handOver;
    if (WEFT_UNLIKELY(handOver.isQuiet)) {
        if (handOver.Is(work.entry))
            handOver.isQuiet = false;
        else
            EndQuiet(worker);
    }
    handOver.last = nullptr;
    return work;
}

Work TakeNext(Worker &worker) noexcept {
    Fiber &fiber = *std::exchange(worker.comesNext, nullptr);
    return {Entry::Of(fiber), fiber.level, false};
}

// Takes work of the level: pinned work, then the own deque, then the deques of others, then chunks
// that were put behind. Hides the notice of the level if there is none.
Work TakeUsual(Worker &worker, Level level) noexcept {
    if (WEFT_UNLIKELY(worker.filter.isSpecial)) {
        if (const Work work = TakePinned(worker, level)) return work;
        if (!worker.filter.May(level)) return {};
    }
    if (const Work work = TakeOwn(worker, level)) return work;
    if (const Work work = Steal(worker, level)) return work;
    if (const Work work = TakeBehind(worker, level)) return work;
    if ((worker.scheduler->notices.Look() & Notices::kLevels & level.Bit()) != 0)
        worker.scheduler->notices.Hide(level.Bit(), [&] { return AnyOf(worker, level); });
    return {};
}

// Returns true if a fiber pumps, and no wait with OwnTasks has begun on top of it.
bool PumpGoesOn(const Worker &worker) noexcept {
    return worker.comesNext != nullptr &&
           (worker.ownWaits == nullptr || worker.ownWaits->pump != worker.comesNext);
}

// Takes the oldest work of the next lower level, in rounds. Four rounds have all orders of places
// (TakeOldest). The first one may have begun before.
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

Work Pick(Worker &worker, bool inTurn) noexcept {
    if (WEFT_UNLIKELY(worker.ownWaits != nullptr)) return PickOwn(worker);
    if (WEFT_UNLIKELY(inTurn)) return PickInTurn(worker);
    if (WEFT_UNLIKELY(worker.fair.isUrgent)) {
        if (const Work work = PickFair(worker)) return work;
    }
    for (uint32_t levels = LevelsToLookAt(worker); levels != 0; levels &= levels - 1) {
        if (const Work work = TakeUsual(worker, Level::At(LowestBit(levels)))) return work;
    }
    return {};
}

}  // namespace

Work NextWork(Worker &worker, bool inTurn) noexcept {
    Flush(worker, true);
    if (worker.fair.budget == 0) ReadClock(worker);
    if (WEFT_UNLIKELY(PumpGoesOn(worker))) return Found(worker, TakeNext(worker));
    if (WEFT_UNLIKELY(worker.filter.isSpecial) && IsOrdered(*worker.scheduler))
        return Found(worker, DrawNext(worker));
    for (;;) {
        TakeArrivals(worker);
        const Work work = Pick(worker, inTurn);
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
    const auto any = [&] {
        return worker.ownWaits != nullptr || worker.comesNext != nullptr || AnyWork(worker);
    };
    if (fair.isUrgent) fair.isUrgent = OwesPick(worker) && any();
    const uint32_t seen = scheduler.notices.Look();
    const Priority own = worker.current->level.priority;
    const uint32_t higher = own == Priority::High ? 0 : kHighLevels;
    const uint32_t same = LevelsOf(1, static_cast<uint32_t>(own) + 1);
    return fair.isUrgent || (seen & worker.filter.may & higher) != 0 ||
           (worker.filter.pinned & same) != 0 || (seen & Notices::kInjected) != 0 ||
           !worker.inbox.LooksEmpty() ||
           ((seen & Notices::kTimed) != 0 && scheduler.timers.MayBeDue());
}

}  // namespace weft::internal
