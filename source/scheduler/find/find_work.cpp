// Implements the order of find_work.h: one function for each situation of a worker.
#include "scheduler/find/find_work.h"

#include "platform/compiler.h"
#include "scheduler/find/aging.h"
#include "scheduler/find/arrivals.h"
#include "scheduler/find/ordered.h"
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

// Returns a pinned fiber or a ready fiber of the priority. Worker::pinnedNext says which kind goes
// first.
Found FiberOf(Worker *worker, Priority priority) noexcept {
    Found found;
    if (worker->pinnedNext) found = PinnedFiber(worker, priority);
    if (!found) found = ReadyFiber(worker, worker, priority);
    return found || worker->pinnedNext ? found : PinnedFiber(worker, priority);
}

// Finds a fiber after a yield. Pinned and ready fibers take turns in going first. Otherwise fibers
// of one kind that yield again and again would keep the other kind from running.
Found AlternateFibers(Worker *worker) noexcept {
    worker->pinnedNext = !worker->pinnedNext;
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) found = FiberOf(worker, kPriorityOrder[i]);
    return found;
}

// Finds work after a fiber has yielded. For each priority: tasks go first, then fibers of a higher
// priority than that of the fiber that yielded. Then tasks of other workers, then all other fibers.
Found AfterYield(Worker *worker) noexcept {
    worker->taskBeforeReady = false;
    Found found;
    for (const Priority priority : kPriorityOrder) {
        // A pinned task goes before pinned fibers here. Otherwise pinned fibers that yield would go
        // first for ever.
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

// Returns true if the worker's own queues hold Low work that it may run now. Then ByPriority checks
// other workers for Normal tasks first. Low work that this worker may not run must not cause that
// check: it would use up the worker's checks of other workers (MaySteal limits their rate), and the
// worker would never reach other workers' Low work.
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

// Returns true if a queue that FindPlain must not handle may hold something (Worker::specialLanes,
// specialFibers).
bool HoldsSpecial(const Worker *worker) noexcept {
    return ((worker->mayHold & worker->specialLanes) |
            (worker->mayHoldFibers & worker->specialFibers)) != 0;
}

// Clears the bits of empty queues in mayHold and mayHoldFibers. Without that a stale bit of a
// special queue keeps FindPlain off its fast path until a search has checked all priorities.
void ForgetEmptyQueues(Worker *worker) noexcept {
    for (uint64_t lanes = worker->mayHold; lanes != 0; lanes &= lanes - 1)
        HoldsTask(worker, LowestBit(lanes));
    for (uint32_t levels = worker->mayHoldFibers; levels != 0; levels &= levels - 1)
        HoldsFiber(worker, LevelAt(LowestBit(levels)));
}

// Finds work for a worker that runs tasks: late work, work after a yield, then work by priority.
Found ByPriority(Worker *worker) noexcept {
    Found found = Late(worker, WorkerMode::Tasks);
    if (!found && worker->taskBeforeReady) found = AfterYield(worker);
    LookAtRuns(worker);
    if (HoldsSpecial(worker)) ForgetEmptyQueues(worker);
    // A searcher calls this again and again. The sooner it returns, the sooner the searcher sees
    // new work.
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

// Finds ready fibers for a starved worker. To resume a fiber it needs no free one.
Found WithoutTasks(Worker *worker) noexcept {
    Found found = Late(worker, WorkerMode::ReadyFibersOnly);
    if (!found && worker->taskBeforeReady) {  // otherwise pinned fibers always go first
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

// Returns true if none of the rarer rules of FindOwn applies: no look at the clock is due, no
// wake-up is pending, no fiber has yielded, nothing is pinned or urgent, and no wait restricts the
// worker.
bool CanUseFastPath(const Worker *worker, Priority priority) noexcept {
    return IsBetweenLooks(worker) && !worker->taskBeforeReady && !worker->wakePending &&
           !worker->searching && worker->pump == nullptr && !worker->inactive &&
           worker->mayBegin == kPriorities && !HasPinned(worker) && !IsUrgent(worker, priority);
}

// Takes the oldest ready fiber of the worker's own level, if the fast path may be used.
WEFT_FORCEINLINE Fiber *PlainReadyFiber(Worker *worker, Level level) noexcept {
    if (!CanUseFastPath(worker, level.ThePriority())) return nullptr;
    CountPick(worker);
    uint64_t index;
    const bool isTaken = worker->ready[level.Index()].Steal(index) == StealResult::Taken;
    return isTaken ? &worker->scheduler->fibers[index] : nullptr;
}

// Takes the newest small task of the worker's own level, if the fast path may be used and the
// pending decrements may stay pending while it runs.
WEFT_FORCEINLINE bool PlainTask(Worker *worker, Level level, TaskEntry &entry) noexcept {
    if (!CanUseFastPath(worker, level.ThePriority())) return false;
    const auto isWanted = [=](const TaskEntry &newest) {
        return !worker->pending.Any() || MayKeepPending(worker, newest);
    };
    if (!worker->lanes[LaneOf(level, StackClass::Small)].PopIf(entry, isWanted)) return false;
    CountPick(worker);
    return true;
}

// The fast path when special queues hold something. The two words have a bit for each level that
// the worker runs and of which it may hold small tasks, or ready fibers. They leave out Low levels.
struct NamedLevels {
    uint32_t tasks;
    uint32_t fibers;
};
// Fills in `levels`. Returns false if the worker may hold a Large task: then only FindOwn can
// decide.
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

// Returns the level with the highest index. Levels of named sets of groups have higher indices than
// those of set 0, so tasks that name groups go first.
Level LastOf(uint32_t levels) noexcept {
    while ((levels & (levels - 1)) != 0) levels &= levels - 1;
    return LevelAt(LowestBit(levels));
}

// FindReady when special queues hold something.
WEFT_NOINLINE Fiber *NamedReadyFiber(Worker *worker) noexcept {
    NamedLevels levels;
    if (!OnlyNamed(worker, levels)) return nullptr;
    const uint32_t high = levels.fibers & kHighLevels;
    const uint32_t first = high != 0 ? high : (levels.tasks & kHighLevels) == 0 ? levels.fibers : 0;
    return first != 0 ? PlainReadyFiber(worker, LastOf(first)) : nullptr;
}

// FindPlain when special queues hold something.
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
    if (WEFT_UNLIKELY(worker->scheduler->order.isOn)) return FindOrdered(worker, mode);
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
    if (worker->own != nullptr) {
        TellDueNow(worker);
        return {};
    }
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

// Finds work after a fiber has yielded: pinned tasks, and pinned fibers of a higher priority than
// that of the fiber that yielded.
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
    if (WEFT_UNLIKELY(worker->scheduler->order.isOn)) return FindPinnedOrdered(worker);
    const bool runsTasks = worker->current != &worker->threadFiber;
    Found found = Late(worker, WorkerMode::PinnedOnly);
    if (!found && worker->taskBeforeReady) {
        found = PinnedAfterYield(worker, runsTasks);
        if (!found && worker->pump != nullptr) return found;  // the fiber that pumps goes next
    }
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        found = PinnedFiber(worker, priority);
        if (!found && runsTasks) found = PinnedTask(worker, priority, RunsOnLarge(worker));
    }
    return found;
}

Found FindPumped(Worker *worker) noexcept {
    // The worker searches only for pinned work here, perhaps for long. If a pinned task made a
    // fiber ready, another worker must be woken for it.
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
