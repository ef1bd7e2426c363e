// Implements steal.h.
#include "scheduler/find/steal.h"

#include "scheduler/find/any_work.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/steal_backoff.h"
#include "scheduler/find/take.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Returns true if other workers may have tasks of the class that this worker can run.
bool MayHave(const Worker *worker, StackClass stack) noexcept {
    return stack == StackClass::Small ||
           ((worker->scheduler->notices.Look() & Notices::kLargeWork) != 0 &&
            CanRun(worker, stack));
}

// Claims a task whose waiter has a higher priority: the waiter has published it and runs tasks of
// that counter inline at present (LendPriority in run_inline.cpp). `priority`: the waiter's.
Found LentTask(Worker *worker, Worker *victim, Priority priority) noexcept {
    const Lent lent{victim->lends.load(kRelaxed)};
    if (!lent || lent.ThePriority() != priority) return {};
    const uint32_t lanes = worker->scheduler->Lanes();
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        const Level level = LevelOf(lane);
        if (level.ThePriority() <= priority || !Runs(*worker, level) ||
            !MayRaise(*worker->scheduler, level))
            continue;
        TaskEntry entry;
        const auto isLent = [=](const TaskEntry &oldest) { return lent.IsOf(oldest.TheCounter()); };
        if (!CanRun(worker, ClassOf(lane)) ||
            victim->lanes[lane].StealIf(entry, isLent) != StealResult::Taken)
            continue;
        ClaimEntry(worker, entry, {priority, level.Set()}, victim->index);
        return {nullptr, true};
    }
    return {};
}

// Calls attempt(victim) for other workers until one call finds something. Begins with the worker
// that last had something, and asks the first `most` of the order.
template <class Attempt>
Found FromVictims(Worker *worker, Attempt attempt, uint32_t most = ~0u) noexcept {
    const uint32_t count = worker->scheduler->Slots();
    for (uint32_t i = 0; i < std::min(count, most); ++i) {
        Worker *victim = &VictimAt(worker, i, count);
        if (victim == worker) continue;
        const Found found = attempt(victim);
        if (!found) continue;
        worker->victim = victim->index;
        AddTo(worker->steals, 1);
        return found;
    }
    return {};
}

// Takes a ready fiber from another worker. For Normal ones, obeys the back-off (steal_backoff.h).
Found ReadyFiberOfOthers(Worker *worker, Priority priority) noexcept {
    const uint64_t now = env::Ticks();
    if (!MayBegin(*worker, priority) ||
        (priority == Priority::Normal && !worker->fromFibers.IsOver(now)))
        return {};
    const Found found =
        FromVictims(worker, [=](Worker *victim) { return ReadyFiber(worker, victim, priority); });
    if (found) {
        BeginVisit(worker, now);
    } else if (priority == Priority::Normal) {
        worker->fromFibers.until = now + worker->fromFibers.penalty;
    }
    return found;
}

// Claims a task from a lane of another worker. With many workers, a thief first asks a few of them
// for a large slice. A thief that takes few tasks must soon steal again. If each thief took the
// first slice that it finds, all slices would become small (machine bounds).
Found StealFrom(Worker *worker, uint32_t lane) noexcept {
    constexpr uint32_t kFew = 4, kLarge = 8;
    Found found;
    if (worker->scheduler->Slots() > 2 * kFew) {
        const WantedSlice large{0, kLarge};
        found = FromVictims(
            worker, [=](Worker *victim) { return OldestTask(worker, victim, lane, large); }, kFew);
    }
    return found ? found : FromVictims(worker, [=](Worker *victim) {
        return OldestTask(worker, victim, lane);
    });
}

// Claims a task of one priority from another worker, Large ones first.
Found StealTask(Worker *worker, Priority priority) noexcept {
    if (!MayBegin(*worker, priority)) return {};
    Found found;
    for (const StackClass stack : {StackClass::Large, StackClass::Small}) {
        if (found || !MayHave(worker, stack)) continue;
        found = InLevels(worker, priority, [=](Level level) {
            return Runs(*worker, level) ? StealFrom(worker, LaneOf(level, stack)) : Found{};
        });
    }
    if (!found && priority == Priority::High) {
        found =
            FromVictims(worker, [=](Worker *victim) { return LentTask(worker, victim, priority); });
    }
    return found;
}

// Returns true if the worker lends a priority and has lower tasks in its lanes.
bool HasLent(const Worker &worker) noexcept {
    if (worker.lends.load(kSeqCst) == 0) return false;
    const uint32_t lanes = worker.scheduler->Lanes();
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        if (PriorityOf(lane) != Priority::High && worker.lanes[lane].Size() != 0) return true;
    }
    return false;
}

// Returns true if a worker has work of the priority that some worker of the group could run.
// seq_cst: called after Notices::Hide.
bool AnyOf(const Scheduler &scheduler, Priority priority, uint32_t group) noexcept {
    const bool anyLarge = scheduler.pool.AnyFree(StackClass::Large);
    const uint32_t slots = scheduler.Slots();
    const uint32_t levels = scheduler.Levels();
    for (uint32_t i = 0; i < slots; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (priority == Priority::High && HasLent(worker)) return true;
        for (uint32_t set = 0; set * kPriorities < levels; ++set) {
            const Level level(priority, set);
            if ((scheduler.groupsOf[level.Index()].load(kSeqCst) >> group & 1) == 0) continue;
            if (worker.ready[level.Index()].Size() != 0 ||
                worker.lanes[LaneOf(level, StackClass::Small)].Size() != 0 ||
                (anyLarge && worker.lanes[LaneOf(level, StackClass::Large)].Size() != 0)) {
                return true;
            }
        }
    }
    return false;
}

// Takes ready fibers and tasks of a priority that has a notice from other workers. Hides the notice
// if there is nothing.
Found FromNotice(Worker *worker, Priority priority, uint32_t notice, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if ((scheduler.notices.Look() & notice) == 0) return {};
    Found found = ReadyFiberOfOthers(worker, priority);
    if (!found && mode == WorkerMode::Tasks) found = StealTask(worker, priority);
    const bool sawAll = mode == WorkerMode::Tasks && MayBegin(*worker, priority);
    if (!found && sawAll)
        scheduler.notices.Hide(notice, [&] { return AnyOf(scheduler, priority, worker->group); });
    return found;
}

}  // namespace

// Normal work has no notice, so each call goes through the other workers.
Found StealOf(Worker *worker, Priority priority, WorkerMode mode) noexcept {
    if (priority == Priority::High)
        return FromNotice(worker, priority, Notices::HighWork(worker->group), mode);
    if (priority == Priority::Low)
        return FromNotice(worker, priority, Notices::LowWork(worker->group), mode);
    const Found found = ReadyFiberOfOthers(worker, priority);
    return found || mode != WorkerMode::Tasks ? found : StealTask(worker, priority);
}

Found Steal(Worker *worker, WorkerMode mode) noexcept {
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i)
        found = StealOf(worker, static_cast<Priority>(i), mode);
    Scheduler &scheduler = *worker->scheduler;
    if (!found && (scheduler.notices.Look() & Notices::kLargeWork) != 0 &&
        !AnyLargeTask(scheduler)) {
        scheduler.notices.Hide(Notices::kLargeWork, [&] { return AnyLargeTask(scheduler); });
        // A Large task may have come just now. A worker that freed a Large fiber meanwhile did not
        // see the notice.
        if (MayHave(worker, StackClass::Large)) WakeForFreeLarge(scheduler, worker);  // [re-check]
    }
    return found;
}

}  // namespace weft::internal
