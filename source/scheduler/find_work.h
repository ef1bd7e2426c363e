// What runs next: the one place that decides.
//
// The order. What is due comes first: deadlines are told, and what came from other threads goes to
// this worker's lanes. Then late work, as far as its share goes (aging.h). Then by priority: High,
// wherever it lies; Normal, and others' Normal tasks before own Low ones; Low, on the workers that
// run it. Within a priority: pinned fibers, pinned tasks, ready fibers, tasks; ready fibers oldest
// first, tasks newest first.
//
// That High goes first everywhere costs one load at each pick (Notices::HighWork). A pick that has
// begun may finish.
#pragma once

#include "platform/compiler.h"
#include "scheduler/groups.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

struct Found {
    Fiber *fiber = nullptr;  ///< a ready fiber to switch to
    bool claimed = false;    ///< or: the worker's claim is filled
    explicit operator bool() const noexcept { return fiber != nullptr || claimed; }
};

/// Whether waits let the worker begin tasks of this priority, and continue fibers of this priority
/// that are not pinned to it.
inline bool MayBegin(const Worker &worker, Priority priority) noexcept {
    return static_cast<uint32_t>(priority) < worker.mayBegin;
}

/// Whether they and its group let it do so with work of this level.
inline bool MayRun(const Worker &worker, Level level) noexcept {
    return MayBegin(worker, level.ThePriority()) && Runs(worker, level);
}

/// Calls look(level) for the levels of a priority that may hold something, and returns the first
/// thing that is found. Tasks that name groups go first, as fewer workers can run them.
template <class Look>
Found InLevels(const Worker *worker, Priority priority, Look look) noexcept {
    Found found;
    for (uint32_t set = worker->scheduler->Levels() / kPriorities - 1;
         WEFT_UNLIKELY(set != 0) && !found; --set)
        found = look(Level(priority, set));
    return found ? found : look(Level(priority));
}

/// A wait restricts it, see Meanwhile.
inline bool IsRestricted(const Worker *worker) noexcept { return worker->mayBegin != kPriorities; }

/// Whether a waiter of this priority may run tasks of its counter itself. A wait with OwnTasks may.
inline bool MayHelpAt(const Worker &worker, Priority priority) noexcept {
    return MayBegin(worker, priority) || worker.mayBegin == 0;
}

/// What it can do that has a fiber.
inline Ability AbilityOf(const Worker *worker) noexcept {
    if (WEFT_UNLIKELY(worker->own != nullptr)) return Ability::OwnTasks;
    return worker->scheduler->IsActive(worker->index) ? Ability::Tasks : Ability::PinnedOnly;
}

/// What is this worker's to do: see above. High work of others is among it.
Found FindOwn(Worker *worker, Ability ability) noexcept;

/// What FindOwn would return, if that is plain to see; else nothing. A ready fiber, for who leaves
/// its fiber: no loop is needed in between. The newest entry of small tasks, unless what is pending
/// must be lowered before it: it is taken, and is to be run right away.
Fiber *FindReady(Worker *worker) noexcept;
bool FindPlain(Worker *worker, TaskEntry &entry, Level &level) noexcept;

/// What has to have a turn before a task of this priority goes on (turn.h): deadlines, what came
/// from other threads, what is pinned here, and work of higher priority.
Found FindBefore(Worker *worker, Priority priority) noexcept;

/// Claims the newest entry of the worker's own deques if it belongs to `counter` and its tasks need
/// no larger stack than `most`. For a task that waits for it.
bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept;

/// The oldest task of a late lane, claimed. If it belongs to a batch that the worker has begun,
/// claims the next task of its own lane instead. So that lane keeps the batch's order.
Found LateTask(Worker *worker, Worker *owner, uint32_t lane) noexcept;

/// What there is between two tasks. ForValue: perhaps somebody waits for a value above zero. Turn:
/// something has to have a turn.
enum class Call : uint8_t { None, ForValue, Turn };

/// No notice of any kind, nobody has asked, and no mail. relaxed, all: hints.
inline bool NobodyCalls(const Scheduler &scheduler, const Worker *worker) noexcept {
    return WEFT_LIKELY(scheduler.notices.Look() == 0) &&
           WEFT_LIKELY(!worker->asked.load(kRelaxed)) && WEFT_LIKELY(worker->mailbox.LooksEmpty());
}

/// What there is before a task of that priority goes on. Three loads of words that are seldom
/// written; the clock is read while there is a deadline.
inline Call CallOf(const Worker *worker, Priority priority) noexcept {
    const uint32_t notices = worker->scheduler->notices.Look();
    const bool isAsked = worker->asked.load(kRelaxed) || !worker->mailbox.LooksEmpty();  // hints
    if (WEFT_LIKELY(notices == 0 && !isAsked)) return Call::None;
    const uint32_t higher = priority == Priority::High ? 0 : Notices::HighWork(worker->group);
    const uint32_t seen = notices & (Notices::kInjected | Notices::kTimed | higher);
    if (isAsked || (seen & ~Notices::kTimed) != 0 ||
        (seen != 0 && worker->scheduler->timers.MayBeDue()))
        return Call::Turn;
    return (notices & Notices::kForValue) != 0 ? Call::ForValue : Call::None;
}
inline bool IsCalled(const Worker *worker, Priority priority) noexcept {
    return CallOf(worker, priority) == Call::Turn;
}

}  // namespace weft::internal
