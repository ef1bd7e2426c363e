// Whether something has to run before the current task goes on: hints, one or two loads each.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// What there is between two tasks. ForValue: perhaps somebody waits for a value above zero. Now:
/// something has to run before the task.
enum class Urgency : uint8_t { None, ForValue, Now };

/// No notice of any kind, nobody has asked, and the inbox is empty. relaxed, all: hints.
inline bool NothingUrgent(const Scheduler &scheduler, const Worker *worker) noexcept {
    return WEFT_LIKELY(scheduler.notices.Look() == 0) &&
           WEFT_LIKELY(!worker->asked.load(kRelaxed)) && WEFT_LIKELY(worker->inbox.LooksEmpty());
}

/// What there is before a task of that priority goes on. Three loads of words that are seldom
/// written; the clock is read while there is a deadline.
inline Urgency UrgencyOf(const Worker *worker, Priority priority) noexcept {
    const uint32_t notices = worker->scheduler->notices.Look();
    const bool isAsked = worker->asked.load(kRelaxed) || !worker->inbox.LooksEmpty();  // hints
    if (WEFT_LIKELY(notices == 0 && !isAsked)) return Urgency::None;
    const uint32_t higher = priority == Priority::High ? 0 : Notices::HighWork(worker->group);
    const uint32_t seen = notices & (Notices::kInjected | Notices::kTimed | higher);
    if (isAsked || (seen & ~Notices::kTimed) != 0 ||
        (seen != 0 && worker->scheduler->timers.MayBeDue()))
        return Urgency::Now;
    return (notices & Notices::kForValue) != 0 ? Urgency::ForValue : Urgency::None;
}

inline bool IsUrgent(const Worker *worker, Priority priority) noexcept {
    return UrgencyOf(worker, priority) == Urgency::Now;
}

}  // namespace weft::internal
