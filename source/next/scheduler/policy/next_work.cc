// Implements next_work.h.
#include "scheduler/policy/next_work.h"

#include "scheduler/policy/places.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/ready.h"

#include <utility>

namespace weft::internal {

namespace {

// Continuing the fiber that it has just made ready is what lets a worker hide the next one.
Work Found(Worker &worker, const Work &work) noexcept {
    HandOver &handOver = worker.handOver;
    if (WEFT_UNLIKELY(handOver.last != nullptr)) {
        const bool continues =
            work.entry.TheKind() == Entry::Fiber && &work.entry.TheFiber() == handOver.last;
        handOver.inARow = continues ? handOver.inARow + 1 : 0;
        handOver.last = nullptr;
    }
    return work;
}

// The fiber that this worker hides comes next, unless something higher waits.
Work TakeHandOver(Worker &worker) noexcept {
    const Fiber &fiber = *worker.handOver.next;
    const uint32_t higher = worker.scheduler->notices.Look() & worker.filter.may & kHighLevels;
    const bool isHighest = fiber.level.ThePriority() == Priority::High || higher == 0;
    if (!isHighest || (worker.filter.may & fiber.level.Bit()) == 0) {
        ShowHandOver(worker);
        return {};
    }
    worker.handOver.last = nullptr;
    Fiber &next = *std::exchange(worker.handOver.next, nullptr);
    return {Entry::Of(next), next.level, false};
}

// The level's work as it lies: pinned to this worker, then its own, then that of others.
Work TakeUsual(Worker &worker, Level level) noexcept {
    if (WEFT_UNLIKELY(worker.filter.isSpecial)) {
        if (const Work work = TakePinned(worker, level)) return work;
        if ((worker.filter.may & level.Bit()) == 0) return {};
    }
    if (const Work work = TakeOwn(worker, level)) return work;
    if (const Work work = Steal(worker, level)) return work;
    if ((worker.scheduler->notices.Look() & Notices::kLevels & level.Bit()) != 0)
        worker.scheduler->notices.Hide(level.Bit(), [&] { return AnyOf(worker, level); });
    return {};
}

}  // namespace

Work NextWork(Worker &worker) noexcept {
    Flush(worker);
    if (worker.fair.budget == 0) Look(worker, worker.fair.period);
    TakeArrivals(worker);
    if (WEFT_UNLIKELY(worker.fair.isUrgent)) {
        // It waits with the others: otherwise a task that yields again and again would hide it.
        if (worker.handOver.next != nullptr) ShowHandOver(worker);
        if (const Work work = PickFair(worker)) return Found(worker, work);
    }
    if (worker.handOver.next != nullptr) {
        if (const Work work = TakeHandOver(worker)) return work;
    }
    for (uint32_t levels = LevelsToLookAt(worker) | worker.filter.pinned; levels != 0;
         levels &= levels - 1) {
        if (const Work work = TakeUsual(worker, Level::At(LowestBit(levels))))
            return Found(worker, work);
    }
    return {};
}

bool AttendNow(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t seen = scheduler.notices.Look();
    if (WEFT_UNLIKELY((seen & Notices::kForValue) != 0)) {
        Flush(worker);
        scheduler.counters.HideForValue();
    }
    if (scheduler.idle.AnySearcher()) ShareClaim(worker);
    const Priority own = worker.current->level.ThePriority();
    const uint32_t higher = own == Priority::High ? 0 : kHighLevels;
    const uint32_t same = LevelsOf(1, static_cast<uint32_t>(own) + 1);
    return worker.fair.isUrgent || worker.handOver.next != nullptr ||
           (seen & worker.filter.may & higher) != 0 || (worker.filter.pinned & same) != 0 ||
           (seen & Notices::kInjected) != 0 || !worker.inbox.LooksEmpty() ||
           ((seen & Notices::kTimed) != 0 && scheduler.timers.MayBeDue());
}

}  // namespace weft::internal
