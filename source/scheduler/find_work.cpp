#include "scheduler/find_work.h"

#include "scheduler/aging.h"
#include "scheduler/any_work.h"
#include "scheduler/claim.h"
#include "scheduler/own_tasks.h"
#include "scheduler/pinned.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/steal_backoff.h"
#include "scheduler/submit.h"
#include "scheduler/timing.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr Priority kPriorityOrder[] = {Priority::High, Priority::Normal, Priority::Low};

// How many tasks there were, and the highest priority among them. A worker takes from its lanes what came last: so the newest
// comes first, and the oldest is begun first.
uint32_t EnqueueBlocks(Worker *worker, Letter *newest, Priority &highest) noexcept {
    uint32_t tasks = 0;
    ReadBlocks blocks(worker);
    for (Letter *letter = newest; letter != nullptr;) {
        TaskBlock *block = static_cast<TaskBlock *>(letter);
        letter = letter->next;
        tasks += block->count;
        if (block->options.priority < highest) highest = block->options.priority;
        Enqueue(worker, block->count, block->Tasks(), block->counter, block->options);
        blocks.Add(block);
    }
    return tasks;
}

// What threads that are no workers made ready or submitted goes to this worker's own deques, where others can steal it. True if
// there were tasks of that priority or a higher one.
bool TakeInjected(Worker *worker, Priority priority) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if ((scheduler.notices.Look() & Notices::kInjected) == 0) return false;
    scheduler.notices.Hide(Notices::kInjected, [] { return false; });  // [order] what comes from now on says so again
    uint32_t fibers = 0;
    Letter *newestTasks = nullptr;
    for (Letter *letter = scheduler.injector.TakeAll(); letter != nullptr;) {
        Letter *next = letter->next;
        if (letter->kind == Letter::Kind::Tasks) {
            letter->next = newestTasks;
            newestTasks = letter;
        } else if (PushReady(worker, static_cast<Fiber *>(letter))) {
            ++fibers;
        } else {
            Inject(scheduler, letter);
        }
        letter = next;
    }
    Priority highest = Priority::Low;
    const uint32_t tasks = EnqueueBlocks(worker, newestTasks, highest);
    // One of them may be picked next; FindOwn wakes somebody otherwise.
    if (fibers != 0) worker->owesWake = true;
    for (uint32_t i = 1; i < fibers && i < 3; ++i) WakeForAny(scheduler, worker);
    if (tasks != 0) WakeForTasks(scheduler, worker, tasks);
    if (scheduler.LimitsLow()) WakeForLow(scheduler, worker, tasks + fibers);  // there may be Low ones
    return tasks != 0 && highest <= priority;
}

// A look into the lanes of a class is worth it.
bool MayHave(const Worker *worker, StackClass stack) noexcept {
    return stack == StackClass::Small ||
           ((worker->scheduler->notices.Look() & Notices::kLargeWork) != 0 && CanRun(worker, stack));
}

Found NewestOf(Worker *worker, uint32_t lane) noexcept {
    TaskEntry entry;
    if (!HoldsTask(worker, lane) || !MayRun(*worker, PriorityOf(lane)) || !CanRun(worker, ClassOf(lane)) ||
        !worker->lanes[lane].Pop(entry))
        return {};
    ClaimEntry(worker, entry, PriorityOf(lane), false);
    return {nullptr, true};
}

// Large tasks before small ones: they are few, and long.
Found NewestTask(Worker *worker, Priority priority) noexcept {
    const Found found = NewestOf(worker, LaneOf(priority, StackClass::Large));
    return found ? found : NewestOf(worker, LaneOf(priority, StackClass::Small));
}

// A task that a waiter of higher priority has published, and runs itself just then, see LendPriority.
Found LentTask(Worker *worker, Worker *victim, Priority priority) noexcept {
    const Lent lent{victim->lends.load(kRelaxed)};
    if (!lent || lent.ThePriority() != priority) return {};
    for (uint32_t lane = LaneOf(priority, StackClass::Large) + 1; lane < kLanes; ++lane) {
        TaskEntry entry;
        const auto isLent = [=](const TaskEntry &oldest) { return lent.IsOf(oldest.TheCounter()); };
        if (!CanRun(worker, ClassOf(lane)) || victim->lanes[lane].StealIf(entry, isLent) != StealResult::Taken)
            continue;
        ClaimEntry(worker, entry, priority, true);
        return {nullptr, true};
    }
    return {};
}

// Asks the others in turn, beginning with the one that last had something.
template <class Attempt>
Found FromVictims(Worker *worker, Attempt attempt) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t count = scheduler.Slots();
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t index = worker->victim + i < count ? worker->victim + i : worker->victim + i - count;
        Worker *victim = &scheduler.workers[index];
        if (victim == worker) continue;
        const Found found = attempt(victim);
        if (!found) continue;
        worker->victim = index;
        return found;
    }
    return {};
}

Found ReadyFiberOfOthers(Worker *worker, Priority priority) noexcept {
    if (!MayRun(*worker, priority)) return {};
    return FromVictims(worker, [=](Worker *victim) { return ReadyFiber(worker, victim, priority); });
}

Found StealTask(Worker *worker, Priority priority) noexcept {
    if (!MayRun(*worker, priority)) return {};
    Found found;
    for (const StackClass stack : {StackClass::Large, StackClass::Small}) {
        if (found || !MayHave(worker, stack)) continue;
        const uint32_t lane = LaneOf(priority, stack);
        found = FromVictims(worker, [=](Worker *victim) { return OldestTask(worker, victim, lane); });
    }
    if (!found && priority == Priority::High) {
        found = FromVictims(worker, [=](Worker *victim) { return LentTask(worker, victim, priority); });
    }
    return found;
}

bool HasLent(const Worker &worker) noexcept {
    if (worker.lends.load(kSeqCst) == 0) return false;
    for (uint32_t lane = LaneOf(Priority::Normal, StackClass::Small); lane < kLanes; ++lane) {
        if (worker.lanes[lane].Size() != 0) return true;
    }
    return false;
}

// Whether a worker has something of the priority that some worker could run. seq_cst: after Notices::Hide.
bool AnyOf(const Scheduler &scheduler, Priority priority) noexcept {
    const bool anyLarge = scheduler.pool.AnyFree(StackClass::Large);
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (worker.ready[static_cast<uint32_t>(priority)].Size() != 0 ||
            worker.lanes[LaneOf(priority, StackClass::Small)].Size() != 0 ||
            (anyLarge && worker.lanes[LaneOf(priority, StackClass::Large)].Size() != 0) ||
            (priority == Priority::High && HasLent(worker))) {
            return true;
        }
    }
    return false;
}

// Others' ready fibers and tasks of a priority that has a notice.
Found FromNotice(Worker *worker, Priority priority, uint32_t notice, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if ((scheduler.notices.Look() & notice) == 0) return {};
    Found found = ReadyFiberOfOthers(worker, priority);
    if (!found && ability == Ability::Tasks) found = StealTask(worker, priority);
    const bool sawAll = ability == Ability::Tasks && MayRun(*worker, priority);
    if (!found && sawAll) scheduler.notices.Hide(notice, [&] { return AnyOf(scheduler, priority); });
    return found;
}

// Others' Normal work is gone through where there is no notice of it.
Found OfOthers(Worker *worker, Priority priority, Ability ability) noexcept {
    if (priority == Priority::High) return FromNotice(worker, priority, Notices::kHighWork, ability);
    if (priority == Priority::Low) return FromNotice(worker, priority, Notices::kLowWork, ability);
    const Found found = ReadyFiberOfOthers(worker, priority);
    return found || ability != Ability::Tasks ? found : StealTask(worker, priority);
}

// Of pinned fibers and ready ones of a priority: they take turns where somebody yields, so that neither keeps the other from
// going on.
Found FiberInTurn(Worker *worker) noexcept {
    worker->pinnedInTurn = !worker->pinnedInTurn;
    Found found;
    for (const Priority priority : kPriorityOrder) {
        if (worker->pinnedInTurn) found = PinnedFiber(worker, priority);
        if (!found) found = ReadyFiber(worker, worker, priority);
        if (!found && !worker->pinnedInTurn) found = PinnedFiber(worker, priority);
        if (found) break;
    }
    return found;
}

// Somebody yielded: whatever else there is, here or elsewhere.
Found AfterYield(Worker *worker) noexcept {
    worker->taskBeforeReady = false;
    Found found;
    for (const Priority priority : kPriorityOrder) {
        found =
            PinnedTask(worker, priority, RunsOnLarge(worker));  // or pinned fibers that yield would go first for ever
        if (!found) found = NewestTask(worker, priority);
        if (!found && priority == Priority::High) found = OfOthers(worker, priority, Ability::Tasks);
        if (found) return found;
    }
    if (MaySteal(worker, env::Ticks())) found = FindElsewhere(worker, Ability::Tasks);
    return found ? found : FiberInTurn(worker);
}

bool HoldsLow(Worker *worker) noexcept {
    return HoldsFiber(worker, Priority::Low) || HoldsTask(worker, LaneOf(Priority::Low, StackClass::Small)) ||
           HoldsTask(worker, LaneOf(Priority::Low, StackClass::Large));
}

// Or FindSingle would be refused until all priorities have been looked at.
void ForgetEmptyLanes(Worker *worker) noexcept {
    for (uint32_t lane = 0; lane < kLanes; ++lane) HoldsTask(worker, lane);
}

Found ByPriority(Worker *worker) noexcept {
    Found found = Late(worker, Ability::Tasks);
    if (!found && worker->taskBeforeReady) found = AfterYield(worker);
    if ((worker->mayHold & kLargeBits) != 0) ForgetEmptyLanes(worker);
    // A searcher comes here again and again: the sooner it is through, the sooner it sees what comes.
    const bool isEmpty = worker->mayHold == 0 && !HasPinned(worker);
    if (isEmpty && (worker->scheduler->notices.Look() & Notices::kHighWork) == 0) return found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = kPriorityOrder[i];
        found = Pinned(worker, priority);
        if (!found) found = ReadyFiber(worker, worker, priority);
        if (!found) found = NewestTask(worker, priority);
        if (!found && priority == Priority::High) found = OfOthers(worker, priority, Ability::Tasks);
        if (!found && priority == Priority::Normal && HoldsLow(worker) && MaySteal(worker, env::Ticks()))
            found = OfOthers(worker, priority, Ability::Tasks);
    }
    return found;
}

// Resuming needs no fiber of one's own.
Found WithoutTasks(Worker *worker) noexcept {
    Found found = Late(worker, Ability::ReadyFibersOnly);
    if (!found && worker->taskBeforeReady) {  // pinned fibers do not go first for ever
        worker->taskBeforeReady = false;
        found = FiberInTurn(worker);
    }
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = kPriorityOrder[i];
        found = PinnedFiber(worker, priority);
        if (!found) found = ReadyFiber(worker, worker, priority);
        if (!found && priority == Priority::High) found = OfOthers(worker, priority, Ability::ReadyFibersOnly);
    }
    return found;
}

// No turn of others is due, nobody has called, and nobody is to be woken.
bool OnlyOwnLanes(const Worker *worker, Priority priority) noexcept {
    return IsBetweenLooks(worker) && !worker->taskBeforeReady && !worker->owesWake && !worker->searching &&
           worker->pump == nullptr && !worker->inactive && worker->mayBegin == kPriorities &&
           (worker->mayHold & kLargeBits) == 0 && !HasPinned(worker) && !IsCalled(worker, priority);
}

// Of its own, if it is plain that this one is next.
WEFT_FORCEINLINE Fiber *PlainReadyFiber(Worker *worker, Priority priority) noexcept {
    if (!OnlyOwnLanes(worker, priority)) return nullptr;
    CountPick(worker);
    uint64_t index;
    const bool isTaken = worker->ready[static_cast<uint32_t>(priority)].Steal(index) == StealResult::Taken;
    return isTaken ? &worker->scheduler->fibers[index] : nullptr;
}

}  // namespace

bool TakeArrivals(Worker *worker, Priority priority) noexcept {
    TellDueNow(worker);
    return TakeInjected(worker, priority);
}

Found ReadyFiber(Worker *worker, Worker *owner, Priority priority) noexcept {
    if (!MayRun(*worker, priority)) return {};
    WorkStealingDeque<uint64_t> &ready = owner->ready[static_cast<uint32_t>(priority)];
    uint64_t index;
    if (ready.LooksEmpty() || ready.Steal(index) != StealResult::Taken) return {};
    return {&worker->scheduler->fibers[index], false};
}

Found LateTask(Worker *worker, Worker *owner, uint32_t lane) noexcept {
    uint64_t batch = 0;
    const auto look = [&](const TaskEntry &newest) {
        if (newest.IsSlice()) batch = newest.Batch();
        return false;
    };
    TaskEntry newest;
    worker->lanes[lane].PopIf(newest, look);
    const Found found = OldestTask(worker, owner, lane, batch);
    return found || batch == 0 ? found : NewestOf(worker, lane);
}

Found OldestTask(Worker *worker, Worker *owner, uint32_t lane, uint64_t exceptBatch) noexcept {
    const Priority priority = PriorityOf(lane);
    TaskEntry entry;
    const auto isWanted = [=](const TaskEntry &oldest) { return !oldest.IsSlice() || oldest.Batch() != exceptBatch; };
    if (owner->lanes[lane].LooksEmpty() || !MayRun(*worker, priority) || !CanRun(worker, ClassOf(lane)) ||
        owner->lanes[lane].StealIf(entry, isWanted) != StealResult::Taken) {
        return {};
    }
    const Lent lent{owner->lends.load(kRelaxed)};
    ClaimEntry(worker, entry, lent.IsOf(entry.TheCounter()) ? std::min(lent.ThePriority(), priority) : priority,
               owner != worker);
    return {nullptr, true};
}

Found FindOwn(Worker *worker, Ability ability) noexcept {
    AnswerAsk(worker);
    SortMail(worker);
    const bool all = ability != Ability::PinnedOnly && ability != Ability::OwnTasks;
    if (all) TakeArrivals(worker, Priority::Low);
    Found found;
    switch (ability) {
        case Ability::Tasks:
        case Ability::HigherTasks:
            found = ByPriority(worker);
            break;
        case Ability::ReadyFibersOnly:
            found = WithoutTasks(worker);
            break;
        case Ability::OwnTasks:
            found = FindServing(worker);
            break;
        case Ability::PinnedOnly:
            found = FindPinned(worker);
            break;
        case Ability::Nothing:
            break;
    }
    if (worker->owesWake) {
        worker->owesWake = false;
        if (found.fiber == nullptr || HoldsAnyFiber(worker)) WakeForAny(*worker->scheduler, worker);
    }
    return found;
}

Fiber *FindReady(Worker *worker) noexcept {
    if ((worker->mayHold & kReadyBits) == 0) return nullptr;
    if (HoldsFiber(worker, Priority::High)) return PlainReadyFiber(worker, Priority::High);
    const bool anyHigh = HoldsTask(worker, LaneOf(Priority::High, StackClass::Small));
    return !anyHigh && HoldsFiber(worker, Priority::Normal) ? PlainReadyFiber(worker, Priority::Normal) : nullptr;
}

bool FindSingle(Worker *worker, TaskEntry &entry, Priority &priority) noexcept {
    const bool anyHigh = HoldsTask(worker, LaneOf(Priority::High, StackClass::Small));
    priority = anyHigh ? Priority::High : Priority::Normal;
    if (HoldsFiber(worker, Priority::High) || (!anyHigh && HoldsFiber(worker, Priority::Normal)) ||
        !OnlyOwnLanes(worker, priority)) {
        return false;
    }
    const uint32_t lane = LaneOf(priority, StackClass::Small);
    if (!worker->lanes[lane].PopIf(entry, [](const TaskEntry &newest) { return !newest.IsSlice(); })) return false;
    CountPick(worker);
    return true;
}

Found FindElsewhere(Worker *worker, Ability ability) noexcept {
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) found = OfOthers(worker, kPriorityOrder[i], ability);
    Scheduler &scheduler = *worker->scheduler;
    if (!found && (scheduler.notices.Look() & Notices::kLargeWork) != 0 && !AnyLargeTask(scheduler)) {
        scheduler.notices.Hide(Notices::kLargeWork, [&] { return AnyLargeTask(scheduler); });
        // A Large task may have come just now. A worker that freed a Large fiber meanwhile did not see the notice.
        if (MayHave(worker, StackClass::Large)) WakeForFreeLarge(scheduler, worker);  // [re-check]
    }
    return found;
}

Found FindBefore(Worker *worker, Priority priority) noexcept {
    SortMail(worker);
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
            if (!found && higher == Priority::High) found = OfOthers(worker, higher, Ability::Tasks);
        } else if (came) {
            found = NewestTask(worker, higher);
        }
    }
    return found;
}

bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept {
    if (!HoldsTasks(worker)) return false;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!HoldsTask(worker, lane) || ClassOf(lane) > most) continue;
        if (PriorityOf(lane) == Priority::Low && !worker->scheduler->RunsLow(worker->index)) continue;
        TaskEntry entry;
        const auto isWanted = [=](const TaskEntry &newest) { return newest.TheCounter() == counter; };
        if (!worker->lanes[lane].PopIf(entry, isWanted)) continue;
        ClaimEntry(worker, entry, PriorityOf(lane), false);
        return true;
    }
    return false;
}

}  // namespace weft::internal
