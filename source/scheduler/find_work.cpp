#include "scheduler/find_work.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
#include "scheduler/large_backlog.h"
#include "scheduler/low_limit.h"
#include "scheduler/pinned.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/steal_backoff.h"
#include "scheduler/submit.h"
#include "scheduler/timing.h"

namespace weft::internal {

namespace {

constexpr uint32_t kUrgentStreak = 8;  // at most so many ready fibers and High tasks in a row while others wait
constexpr uint32_t kOldestEvery = 61;  // every so many picks the oldest task of one lane or of the backlog goes first
constexpr uint32_t kHigh = 0, kNormal = 1, kLow = kLowLane;

// How many tasks there were. A worker takes from its lanes what came last: so the newest comes first, and the oldest is begun first.
uint32_t EnqueueBlocks(Worker *worker, Letter *newest) noexcept {
    uint32_t tasks = 0;
    ReadBlocks blocks(*worker->scheduler);
    for (Letter *letter = newest; letter != nullptr;) {
        TaskBlock *block = static_cast<TaskBlock *>(letter);
        letter = letter->next;
        tasks += block->count;
        Enqueue(worker, block->count, block->Tasks(), block->counter, block->options);
        blocks.Add(block);
    }
    return tasks;
}

// What threads that are no workers made ready or submitted goes to this worker's own deques, where others can steal it.
void TakeInjected(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    uint32_t fibers = 0;
    Letter *newestTasks = nullptr;
    for (Letter *letter = scheduler.injector.TakeAll(); letter != nullptr;) {
        Letter *next = letter->next;
        if (letter->kind == Letter::Kind::Tasks) {
            letter->next = newestTasks;
            newestTasks = letter;
        } else if (worker->ready.Push(static_cast<Fiber *>(letter)->index)) {
            ++fibers;
        } else {
            scheduler.injector.Push(letter);
        }
        letter = next;
    }
    const uint32_t tasks = EnqueueBlocks(worker, newestTasks);
    // One of them may be picked next; FindOwn wakes somebody otherwise.
    if (fibers != 0) worker->owesWake = true;
    for (uint32_t i = 1; i < fibers && i < 3; ++i) WakeForAny(scheduler, worker);
    if (tasks != 0) WakeForTasks(scheduler, worker, tasks);
}

Found ReadyFiber(Worker *worker, Worker *victim) noexcept {
    if (victim->ready.LooksEmpty()) return {};
    uint64_t index;
    if (victim->ready.Steal(index) != StealResult::Taken) return {};
    Fiber *fiber = &worker->scheduler->fibers[index];
    if (!MayResume(*worker->scheduler, worker, fiber)) return {};
    return {fiber, false};
}

// Around the attempt to take something from a lane. `attempt` fills the claim and says whether it did.
template <class Attempt>
Found WithPermit(Worker *worker, uint32_t lane, Attempt attempt) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool low = lane == kLow && scheduler.options.maxLowWorkers != 0;
    if (WEFT_LIKELY(!low)) return {nullptr, attempt()};
    if (!TakeLowPermit(scheduler)) return {};
    const bool claimed = attempt();
    worker->claim.low = claimed;
    if (!claimed) GiveLowPermit(scheduler, worker);
    return {nullptr, claimed};
}

Found NewestTask(Worker *worker, uint32_t lane) noexcept {
    if (worker->lanes[lane].LooksEmpty()) return {};
    return WithPermit(worker, lane, [=] {
        TaskEntry entry;
        if (!worker->lanes[lane].Pop(entry)) return false;
        ClaimEntry(worker, entry, lane, false);
        return true;
    });
}

Found OldestTask(Worker *worker, Worker *victim, uint32_t lane) noexcept {
    if (victim->lanes[lane].LooksEmpty()) return {};
    return WithPermit(worker, lane, [=] {
        TaskEntry entry;
        if (victim->lanes[lane].Steal(entry) != StealResult::Taken) return false;
        ClaimEntry(worker, entry, lane, victim != worker);
        return true;
    });
}

// Large tasks that once found no fiber. Who appends one looks for a free Large fiber afterwards; who frees a Large fiber
// looks at this count afterwards; both seq_cst, so one of them sees the other.
Found FetchBacklog(Worker *worker, bool low) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (scheduler.largeBacklog[low].load(kSeqCst) == 0) return {};
    if (!RunsOnLarge(worker) && !scheduler.pool.AnyFree(StackClass::Large)) return {};
    return WithPermit(worker, low ? kLow : kNormal, [&] {
        BacklogEntry item;
        if (!TakeFromBacklog(worker, low, item)) return false;
        ClaimEntry(worker, item.entry, static_cast<uint32_t>(item.lane), false);
        return true;
    });
}

Found FetchBacklog(Worker *worker) noexcept {
    const Found found = FetchBacklog(worker, false);
    return found ? found : FetchBacklog(worker, true);
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

// The highest lane first, whoever has something in it.
Found StealTask(Worker *worker) noexcept {
    Found found;
    for (uint32_t lane = 0; lane < kLanes && !found; ++lane) {
        found = FromVictims(worker, [=](Worker *victim) { return OldestTask(worker, victim, lane); });
    }
    return found;
}

Found AnyTaskOf(Worker *worker, uint32_t first, uint32_t second, uint32_t third) noexcept {
    Found found = NewestTask(worker, first);
    if (!found) found = NewestTask(worker, second);
    if (!found) found = NewestTask(worker, third);
    return found;
}

Found ReadyFiberOfOthers(Worker *worker) noexcept {
    return FromVictims(worker, [=](Worker *victim) { return ReadyFiber(worker, victim); });
}

// Deques are last in, first out for their owner; so now and then what has waited longest goes first, Low most often.
// And what others made ready who do not look after it, because they are inactive, have detached, or are in a long task:
// whoever polls for it, and yields in between, never searches.
Found Oldest(Worker *worker) noexcept {
    switch (worker->picks / kOldestEvery % 5) {
        case 0:
            return OldestTask(worker, worker, kHigh);
        case 1:
            return OldestTask(worker, worker, kNormal);
        case 2: {
            const Found found = FetchBacklog(worker);
            return found ? found : ReadyFiberOfOthers(worker);
        }
        default:
            return OldestTask(worker, worker, kLow);
    }
}

// Who polls, and yields in between, is always ready: that must not keep what is pinned here from going on. Nor must pinned
// fibers that wake each other keep others from it. So they take turns.
Found FiberInTurn(Worker *worker) noexcept {
    worker->pinnedInTurn = !worker->pinnedInTurn;
    const Found found = worker->pinnedInTurn ? PinnedFiber(worker) : Found{};
    return found ? found : ReadyFiber(worker, worker);
}

// Somebody yielded, or urgent work had many turns: what else is there, here or elsewhere?
Found NotUrgent(Worker *worker) noexcept {
    const bool yielded = worker->taskBeforeReady;
    worker->taskBeforeReady = false;
    worker->urgentStreak = 0;
    Found found = PinnedTask(worker, RunsOnLarge(worker));  // or pinned fibers that yield would go first for ever
    if (!found) found = yielded ? AnyTaskOf(worker, kHigh, kNormal, kLow) : AnyTaskOf(worker, kNormal, kLow, kHigh);
    if (!found) found = FetchBacklog(worker);
    if (!found && MaySteal(worker, env::Ticks())) {
        found = StealTask(worker);
    }
    return found ? found : FiberInTurn(worker);
}

// Pinned fibers, ready fibers and High tasks go first, but not for ever.
Found ByPriority(Worker *worker) noexcept {
    Found found;
    if (++worker->picks % kOldestEvery == 0) found = Oldest(worker);
    if (!found && (worker->taskBeforeReady || worker->urgentStreak >= kUrgentStreak)) found = NotUrgent(worker);
    if (found) return found;
    if (WEFT_UNLIKELY(HasMail(worker))) found = Pinned(worker);
    if (!found) found = ReadyFiber(worker, worker);
    if (!found) found = NewestTask(worker, kHigh);
    if (found) {
        ++worker->urgentStreak;
        return found;
    }
    worker->urgentStreak = 0;
    found = NewestTask(worker, kNormal);
    if (!found) found = NewestTask(worker, kLow);
    return found ? found : FetchBacklog(worker);
}

// Resuming needs no fiber of one's own.
Found WithoutTasks(Worker *worker) noexcept {
    Found found;
    if (++worker->picks % kOldestEvery == 0) found = ReadyFiberOfOthers(worker);
    if (found) return found;
    if (worker->taskBeforeReady || ++worker->urgentStreak >= kUrgentStreak) {  // pinned fibers do not go first for ever
        worker->taskBeforeReady = false;
        worker->urgentStreak = 0;
        found = FiberInTurn(worker);
        if (found) return found;
    }
    found = PinnedFiber(worker);
    return found ? found : ReadyFiber(worker, worker);
}

// A pinned fiber that polls and yields does not keep pinned tasks from beginning.
Found PinnedInTurn(Worker *worker) noexcept {
    const bool yielded = worker->taskBeforeReady;
    worker->taskBeforeReady = false;
    const Found found = yielded ? PinnedTask(worker, RunsOnLarge(worker)) : Found{};
    return found ? found : Pinned(worker);
}

// Tasks that had to wait while urgent work had many turns. (What other workers have is looked at every 61st time.)
bool AnyNotUrgent(const Worker *worker) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    return !worker->lanes[kHigh].LooksEmpty() || !worker->lanes[kNormal].LooksEmpty() ||
           !worker->lanes[kLow].LooksEmpty() || scheduler.largeBacklog[0].load(kRelaxed) != 0 ||
           scheduler.largeBacklog[1].load(kRelaxed) != 0;  // relaxed: a hint
}

// No reason to look anywhere but at the top of the worker's own ready deque and lanes.
bool OnlyOwnLanes(const Worker *worker) noexcept {
    const bool isTurnOfOthers = worker->taskBeforeReady || (worker->picks + 1) % kOldestEvery == 0 ||
                                (worker->urgentStreak >= kUrgentStreak && AnyNotUrgent(worker));
    return !isTurnOfOthers && !worker->owesWake && !worker->searching && worker->pump == nullptr && !HasMail(worker) &&
           worker->scheduler->injector.LooksEmpty() && !(worker->anyDeadline && worker->scheduler->timers.MayBeDue()) &&
           worker->inactive != worker->scheduler->IsActive(worker->index);
}

bool IsHandOver(const Worker *worker, const Found &found) noexcept {
    return found.fiber != nullptr && worker->ready.LooksEmpty();
}

}  // namespace

Found FindOwn(Worker *worker, Ability ability) noexcept {
    if (ability != Ability::PinnedOnly) {
        TakeInjected(worker);
        TellDueNow(worker);
    }
    Found found;
    switch (ability) {
        case Ability::Tasks:
            found = ByPriority(worker);
            break;
        case Ability::ReadyFibersOnly:
            found = WithoutTasks(worker);
            break;
        case Ability::PinnedOnly:
            found = PinnedInTurn(worker);
            break;
    }
    if (worker->owesWake) {
        worker->owesWake = false;
        if (!IsHandOver(worker, found)) WakeForAny(*worker->scheduler, worker);
    }
    return found;
}

Fiber *FindReady(Worker *worker) noexcept {
    if (worker->ready.LooksEmpty() || !OnlyOwnLanes(worker)) return nullptr;
    ++worker->picks;
    ++worker->urgentStreak;
    return ReadyFiber(worker, worker).fiber;
}

bool FindSingle(Worker *worker, TaskEntry &entry) noexcept {
    if (!worker->ready.LooksEmpty() || !OnlyOwnLanes(worker)) return false;
    const uint32_t lane = worker->lanes[kHigh].LooksEmpty() ? kNormal : kHigh;
    const auto isPlain = [](const TaskEntry &newest) { return newest.IsSmallSingle(); };
    if (!worker->lanes[lane].PopIf(entry, isPlain)) return false;
    ++worker->picks;
    worker->urgentStreak = lane == kHigh ? worker->urgentStreak + 1 : 0;
    return true;
}

Found FindElsewhere(Worker *worker, Ability ability) noexcept {
    Found found = ReadyFiberOfOthers(worker);
    if (!found && ability == Ability::Tasks) found = StealTask(worker);
    return found;
}

bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (worker->lanes[lane].LooksEmpty()) continue;
        const auto claim = [=] {
            TaskEntry entry;
            const auto isWanted = [=](const TaskEntry &newest) {
                return newest.TheCounter() == counter && newest.Stack() <= most;
            };
            if (!worker->lanes[lane].PopIf(entry, isWanted)) return false;
            ClaimEntry(worker, entry, lane, false);
            return true;
        };
        // A Low task that helps itself needs one permit for both.
        if (worker->current->holdsLow ? claim() : static_cast<bool>(WithPermit(worker, lane, claim))) return true;
    }
    return false;
}

}  // namespace weft::internal
