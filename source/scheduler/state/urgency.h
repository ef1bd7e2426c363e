// Whether something is urgent: whether it must run before the current task continues. The checks
// are hints, of one or two loads each.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// What a worker has to do between two tasks. ForValue: perhaps a task waits for a value above
/// zero, so decrements must not stay pending. Now: something has to run first.
enum class Urgency : uint8_t { None, ForValue, Now };

/// Returns true if no notice is set, no other worker has asked this one for tasks, and its inbox is
/// empty. relaxed, all: hints.
inline bool NothingUrgent(const Scheduler &scheduler, const Worker *worker) noexcept {
    return WEFT_LIKELY(scheduler.notices.Look() == 0) &&
           WEFT_LIKELY(!worker->asked.load(kRelaxed)) && WEFT_LIKELY(worker->inbox.LooksEmpty());
}

/// Returns what is urgent before a task of this priority continues. Loads three words that are
/// seldom written. Reads the clock only while there is a deadline.
inline Urgency UrgencyOf(const Worker *worker, Priority priority) noexcept {
    const uint32_t notices = worker->scheduler->notices.Look();
    const bool isAsked = worker->asked.load(kRelaxed) || !worker->inbox.LooksEmpty();  // hints
    if (WEFT_LIKELY(notices == 0 && !isAsked)) return Urgency::None;
    const uint32_t higher = priority == Priority::High ? 0 : Notices::HighWork(worker->group);
    const uint32_t seen =
        notices & (Notices::kInjected | Notices::kTimed | Notices::kOrdered | higher);
    if (isAsked || (seen & ~Notices::kTimed) != 0 ||
        (seen != 0 && worker->scheduler->timers.MayBeDue()))
        return Urgency::Now;
    return (notices & Notices::kForValue) != 0 ? Urgency::ForValue : Urgency::None;
}

inline bool IsUrgent(const Worker *worker, Priority priority) noexcept {
    return UrgencyOf(worker, priority) == Urgency::Now;
}

}  // namespace weft::internal
