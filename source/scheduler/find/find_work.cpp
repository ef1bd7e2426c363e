#include "scheduler/find/find_work.h"

#include "platform/compiler.h"
#include "scheduler/find/aging.h"
#include "scheduler/find/arrivals.h"
#include "scheduler/find/own_tasks.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/steal.h"
#include "scheduler/find/steal_backoff.h"
#include "scheduler/find/take.h"
#include "scheduler/state/urgency.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

constexpr Priority kPriorityOrder[] = {Priority::High, Priority::Normal, Priority::Low};

// Of pinned fibers and ready ones of a priority.
Found FiberOf(Worker *worker, Priority priority) noexcept {
    Found found;
    if (worker->pinnedNext) found = PinnedFiber(worker, priority);
    if (!found) found = ReadyFiber(worker, worker, priority);
    return found || worker->pinnedNext ? found : PinnedFiber(worker, priority);
}

// Pinned and ready fibers take turns where somebody yields, so that neither keeps the other from
// going on.
Found AlternateFibers(Worker *worker) noexcept {
    worker->pinnedNext = !worker->pinnedNext;
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) found = FiberOf(worker, kPriorityOrder[i]);
    return found;
}

// Somebody yielded: fibers of a higher priority than that one's, and whatever task there is, here
// or elsewhere; then the other fibers.
Found AfterYield(Worker *worker) noexcept {
    worker->taskBeforeReady = false;
    Found found;
    for (const Priority priority : kPriorityOrder) {
        // or pinned fibers that yield would go first for ever
        found = PinnedTask(worker, priority, RunsOnLarge(worker));
        if (!found) found = NewestTask(worker, priority);
        if (!found && priority == Priority::High)
            found = StealOf(worker, priority, WorkerMode::Tasks);
        if (!found && priority < worker->yielded) found = FiberOf(worker, priority);
        if (found) return found;
    }
    if (MaySteal(worker, env::Ticks())) found = Steal(worker, WorkerMode::Tasks);
    return found ? found : AlternateFibers(worker);
}

// Low work that it may begin. It looks for others' Normal tasks before that. Other Low work must
// not make it look: that would use up the looks at others (MaySteal), and so it would never come to
// others' Low work.
bool HoldsLow(Worker *worker) noexcept {
    if (!MayBegin(*worker, Priority::Low)) return false;
    for (uint32_t levels = worker->runsSeen & kLowLevels; levels != 0; levels &= levels - 1) {
        const Level level = LevelAt(LowestBit(levels));
        if (HoldsFiber(worker, level) || HoldsTask(worker, LaneOf(level, StackClass::Small)) ||
            (HoldsTask(worker, LaneOf(level, StackClass::Large)) &&
             CanRun(worker, StackClass::Large))) {
            return true;
        }
    }
    return false;
}

// Something that FindPlain leaves alone may lie in the worker's own queues.
bool HoldsSpecial(const Worker *worker) noexcept {
    return ((worker->mayHold & worker->specialLanes) |
            (worker->mayHoldFibers & worker->specialFibers)) != 0;
}

// Or FindPlain would be refused until all priorities have been looked at.
void ForgetEmptyQueues(Worker *worker) noexcept {
    for (uint64_t lanes = worker->mayHold; lanes != 0; lanes &= lanes - 1)
        HoldsTask(worker, LowestBit(lanes));
    for (uint32_t levels = worker->mayHoldFibers; levels != 0; levels &= levels - 1)
        HoldsFiber(worker, LevelAt(LowestBit(levels)));
}

Found ByPriority(Worker *worker) noexcept {
    Found found = Late(worker, WorkerMode::Tasks);
    if (!found && worker->taskBeforeReady) found = AfterYield(worker);
    LookAtRuns(worker);
    if (HoldsSpecial(worker)) ForgetEmptyQueues(worker);
    // A searcher comes here again and again: the sooner it is through, the sooner it sees what
    // comes.
    const bool isEmpty = worker->mayHold == 0 && worker->mayHoldFibers == 0 && !HasPinned(worker);
    if (isEmpty && (worker->scheduler->notices.Look() & Notices::HighWork(worker->group)) == 0)
        return found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = kPriorityOrder[i];
        found = Pinned(worker, priority);
        if (!found) found = ReadyFiber(worker, worker, priority);
        if (!found) found = NewestTask(worker, priority);
        if (!found && priority == Priority::High)
            found = StealOf(worker, priority, WorkerMode::Tasks);
        if (!found && priority == Priority::Normal && HoldsLow(worker) &&
            MaySteal(worker, env::Ticks()))
            found = StealOf(worker, priority, WorkerMode::Tasks);
    }
    return found;
}

// Resuming needs no fiber of one's own.
Found WithoutTasks(Worker *worker) noexcept {
    Found found = Late(worker, WorkerMode::ReadyFibersOnly);
    if (!found && worker->taskBeforeReady) {  // pinned fibers do not go first for ever
        worker->taskBeforeReady = false;
        found = AlternateFibers(worker);
    }
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = kPriorityOrder[i];
        found = PinnedFiber(worker, priority);
        if (!found) found = ReadyFiber(worker, worker, priority);
        if (!found && priority == Priority::High)
            found = StealOf(worker, priority, WorkerMode::ReadyFibersOnly);
    }
    return found;
}

// No turn of others is due, nobody has called, and nobody is to be woken.
bool CanUseFastPath(const Worker *worker, Priority priority) noexcept {
    return IsBetweenLooks(worker) && !worker->taskBeforeReady && !worker->wakePending &&
           !worker->searching && worker->pump == nullptr && !worker->inactive &&
           worker->mayBegin == kPriorities && !HasPinned(worker) && !IsUrgent(worker, priority);
}

// Of its own, if it is plain that this one is next.
WEFT_FORCEINLINE Fiber *PlainReadyFiber(Worker *worker, Level level) noexcept {
    if (!CanUseFastPath(worker, level.ThePriority())) return nullptr;
    CountPick(worker);
    uint64_t index;
    const bool isTaken = worker->ready[level.Index()].Steal(index) == StealResult::Taken;
    return isTaken ? &worker->scheduler->fibers[index] : nullptr;
}

// The newest task of the lane, likewise.
WEFT_FORCEINLINE bool PlainTask(Worker *worker, Level level, TaskEntry &entry) noexcept {
    if (!CanUseFastPath(worker, level.ThePriority())) return false;
    const auto isWanted = [=](const TaskEntry &newest) {
        return !worker->pending.Any() || MayKeepPending(worker, newest);
    };
    if (!worker->lanes[LaneOf(level, StackClass::Small)].PopIf(entry, isWanted)) return false;
    CountPick(worker);
    return true;
}

// The same where something special lies in the queues. What is not: the levels of small tasks and
// of fibers that it runs, High or Normal, as bits. False if there is more than that.
struct NamedLevels {
    uint32_t tasks;
    uint32_t fibers;
};
bool OnlyNamed(Worker *worker, NamedLevels &levels) noexcept {
    ForgetEmptyQueues(worker);
    const uint64_t lanes = worker->mayHold & worker->runsLanes;
    levels = {0, worker->mayHoldFibers & worker->runsSeen & ~kLowLevels};
    for (uint64_t left = lanes; left != 0; left &= left - 1) {
        const uint32_t lane = LowestBit(left);
        if (ClassOf(lane) == StackClass::Large) return false;
        levels.tasks |= LevelOf(lane).Bit();
    }
    levels.tasks &= ~kLowLevels;
    return true;
}

// The last of the levels of a priority: tasks that name groups go first.
Level LastOf(uint32_t levels) noexcept {
    while ((levels & (levels - 1)) != 0) levels &= levels - 1;
    return LevelAt(LowestBit(levels));
}

WEFT_NOINLINE Fiber *NamedReadyFiber(Worker *worker) noexcept {
    NamedLevels levels;
    if (!OnlyNamed(worker, levels)) return nullptr;
    const uint32_t high = levels.fibers & kHighLevels;
    const uint32_t first = high != 0 ? high : (levels.tasks & kHighLevels) == 0 ? levels.fibers : 0;
    return first != 0 ? PlainReadyFiber(worker, LastOf(first)) : nullptr;
}

WEFT_NOINLINE bool NamedTask(Worker *worker, TaskEntry &entry, Level &level) noexcept {
    NamedLevels levels;
    if (!OnlyNamed(worker, levels) || (levels.fibers & kHighLevels) != 0) return false;
    const uint32_t high = levels.tasks & kHighLevels;
    if (levels.tasks == 0 || (high == 0 && levels.fibers != 0)) return false;
    level = LastOf(high != 0 ? high : levels.tasks);
    return PlainTask(worker, level, entry);
}

}  // namespace

Found FindOwn(Worker *worker, WorkerMode mode) noexcept {
    AnswerAsk(worker);
    SortInbox(worker);
    const bool all = mode != WorkerMode::PinnedOnly && mode != WorkerMode::OwnTasks;
    if (all) TakeArrivals(worker, Priority::Low);
    Found found;
    switch (mode) {
        case WorkerMode::Tasks:
        case WorkerMode::HigherTasks:
            found = ByPriority(worker);
            break;
        case WorkerMode::ReadyFibersOnly:
            found = WithoutTasks(worker);
            break;
        case WorkerMode::OwnTasks:
            found = FindServing(worker);
            break;
        case WorkerMode::PinnedOnly:
            found = FindPinned(worker);
            break;
        case WorkerMode::Nothing:
            break;
    }
    if (worker->wakePending) {
        worker->wakePending = false;
        if (found.fiber == nullptr || HoldsAnyFiber(worker)) WakeForAny(*worker->scheduler, worker);
    }
    return found;
}

Fiber *FindReady(Worker *worker) noexcept {
    if (worker->mayHoldFibers == 0) return nullptr;
    if (WEFT_UNLIKELY(HoldsSpecial(worker))) return NamedReadyFiber(worker);
    if (HoldsFiber(worker, Priority::High)) return PlainReadyFiber(worker, Priority::High);
    const bool anyHigh = HoldsTask(worker, LaneOf(Priority::High, StackClass::Small));
    return !anyHigh && HoldsFiber(worker, Priority::Normal)
               ? PlainReadyFiber(worker, Priority::Normal)
               : nullptr;
}

bool FindPlain(Worker *worker, TaskEntry &entry, Level &level) noexcept {
    if (WEFT_UNLIKELY(HoldsSpecial(worker))) return NamedTask(worker, entry, level);
    const bool anyHigh = HoldsTask(worker, LaneOf(Priority::High, StackClass::Small));
    level = anyHigh ? Priority::High : Priority::Normal;
    if (HoldsFiber(worker, Priority::High) || (!anyHigh && HoldsFiber(worker, Priority::Normal)))
        return false;
    return PlainTask(worker, level, entry);
}

Found FindUrgent(Worker *worker, Priority priority) noexcept {
    SortInbox(worker);
    if (worker->own != nullptr) return TellDueNow(worker), Found{};
    const bool came = TakeArrivals(worker, priority);
    Found found;
    for (uint32_t i = 0; i <= static_cast<uint32_t>(priority) && !found; ++i) {
        const Priority higher = kPriorityOrder[i];
        found = PinnedFiber(worker, higher);
        if (!found) found = PinnedTask(worker, higher, false);
        if (found || worker->inactive) continue;
        if (higher != priority) {
            found = ReadyFiber(worker, worker, higher);
            if (!found) found = NewestTask(worker, higher);
            if (!found && higher == Priority::High)
                found = StealOf(worker, higher, WorkerMode::Tasks);
        } else if (came) {
            found = NewestTask(worker, higher);
        }
    }
    return found;
}

namespace {

// Somebody yielded: pinned fibers of a higher priority than that one's, and pinned tasks.
Found PinnedAfterYield(Worker *worker, bool runsTasks) noexcept {
    worker->taskBeforeReady = false;
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        if (runsTasks) found = PinnedTask(worker, priority, RunsOnLarge(worker));
        if (!found && priority < worker->yielded) found = PinnedFiber(worker, priority);
    }
    return found;
}

}  // namespace

Found FindPinned(Worker *worker) noexcept {
    const bool runsTasks = worker->current != &worker->threadFiber;
    Found found = Late(worker, WorkerMode::PinnedOnly);
    if (!found && worker->taskBeforeReady) {
        found = PinnedAfterYield(worker, runsTasks);
        if (!found && worker->pump != nullptr) return found;  // it is the turn of the one who pumps
    }
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        found = PinnedFiber(worker, priority);
        if (!found && runsTasks) found = PinnedTask(worker, priority, RunsOnLarge(worker));
    }
    return found;
}

Found FindPumped(Worker *worker) noexcept {
    // What a pinned task made ready is not looked for here, nor perhaps for long after.
    if (std::exchange(worker->wakePending, false))
        WakeForAny(*worker->scheduler, worker);  // [re-check]
    SortInbox(worker);
    Pump &pump = *worker->pump;
    if (pump.ran < pump.max) {
        const Found found = worker->own != nullptr ? FindPinnedServing(worker) : FindPinned(worker);
        if (found) {
            ++pump.ran;
            return found;
        }
    }
    worker->taskBeforeReady = false;
    worker->pump = pump.outer;
    return {pump.fiber, false};
}

}  // namespace weft::internal
