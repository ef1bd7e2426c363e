#include "scheduler/find_work.h"

#include "scheduler/claim.h"
#include "scheduler/ready.h"

namespace weft::internal {

namespace {

constexpr uint32_t kUrgentStreak = 8;   // at most so many ready fibers and High tasks in a row while others wait
constexpr uint32_t kLowEvery = 61;      // at least every so many picks the oldest Low task is looked for first
constexpr uint32_t kHigh = 0, kNormal = 1, kLow = 2;

Found PinnedFiber(Worker *worker) noexcept {
    if (worker->pinnedReady == nullptr) worker->pinnedReady = worker->mailbox.TakeAll();
    Fiber *fiber = worker->pinnedReady;
    if (fiber == nullptr) return {};
    worker->pinnedReady = fiber->next;
    return {fiber, false};
}

// What foreign threads made ready goes to this worker's own lane, where others can steal it.
void TakeInjected(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    uint32_t count = 0;
    for (Fiber *fiber = scheduler.injector.TakeAll(); fiber != nullptr;) {
        Fiber *next = fiber->next;
        if (worker->ready.Reserve(1)) {
            worker->ready.Stage(0, fiber->index);
            worker->ready.Publish(1);
            ++count;
        } else {
            scheduler.injector.Push(fiber);
        }
        fiber = next;
    }
    for (uint32_t i = 1; i < count && i < 3; ++i) WakeForAny(scheduler, worker);
}

Found ReadyFiber(Worker *worker, Worker *victim) noexcept {
    if (victim->ready.LooksEmpty()) return {};
    uint64_t index;
    if (victim->ready.Steal(index) != StealResult::Taken) return {};
    return {&worker->scheduler->fibers[index], false};
}

Found NewestTask(Worker *worker, uint32_t lane) noexcept {
    TaskEntry entry;
    if (!worker->lanes[lane].Pop(entry)) return {};
    ClaimEntry(worker, entry, lane, false);
    return {nullptr, true};
}

Found OldestTask(Worker *worker, Worker *victim, uint32_t lane) noexcept {
    if (victim->lanes[lane].LooksEmpty()) return {};
    TaskEntry entry;
    if (victim->lanes[lane].Steal(entry) != StealResult::Taken) return {};
    ClaimEntry(worker, entry, lane, victim != worker);
    return {nullptr, true};
}

// Large tasks that once found no fiber. Who appends one looks for a free Large fiber afterwards; who frees a Large fiber
// looks at this count afterwards; both seq_cst, so one of them sees the other.
Found FetchBacklog(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (scheduler.largeBacklog.load(kSeqCst) == 0 || !scheduler.pool.AnyFree(StackClass::Large)) return {};
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        Worker &victim = scheduler.workers[(worker->index + i) % scheduler.workerCount];
        TaskEntry entry;
        if (victim.largeBacklog.Steal(entry) != StealResult::Taken) continue;
        scheduler.largeBacklog.fetch_sub(1, kRelaxed);  // too high for a moment only makes somebody look in vain
        ClaimEntry(worker, entry, kNormal, false);
        return {nullptr, true};
    }
    return {};
}

Found AnyTaskOf(Worker *worker, uint32_t first, uint32_t second, uint32_t third) noexcept {
    Found found = NewestTask(worker, first);
    if (!found) found = NewestTask(worker, second);
    if (!found) found = NewestTask(worker, third);
    return found;
}

// Ready fibers and High tasks go first, but not for ever.
Found ByPriority(Worker *worker) noexcept {
    Found found;
    if (++worker->picks % kLowEvery == 0) {
        found = OldestTask(worker, worker, kLow);
        if (found) return found;
    }
    if (worker->taskBeforeReady || worker->urgentStreak >= kUrgentStreak) {
        const bool yielded = worker->taskBeforeReady;
        worker->taskBeforeReady = false;
        worker->urgentStreak = 0;
        found = yielded ? AnyTaskOf(worker, kHigh, kNormal, kLow) : AnyTaskOf(worker, kNormal, kLow, kHigh);
        if (found) return found;
    }
    found = ReadyFiber(worker, worker);
    if (!found) found = NewestTask(worker, kHigh);
    if (found) {
        ++worker->urgentStreak;
        return found;
    }
    worker->urgentStreak = 0;
    found = NewestTask(worker, kNormal);
    return found ? found : NewestTask(worker, kLow);
}

bool IsHandOver(const Worker *worker, const Found &found) noexcept {
    return found.fiber != nullptr && worker->ready.LooksEmpty();
}

}  // namespace

Found FindOwn(Worker *worker, Ability ability) noexcept {
    Found found = PinnedFiber(worker);
    if (!found) {
        TakeInjected(worker);
        found = ability == Ability::Tasks ? ByPriority(worker) : ReadyFiber(worker, worker);
    }
    if (!found && ability == Ability::Tasks) found = FetchBacklog(worker);
    if (worker->owesWake) {
        worker->owesWake = false;
        if (!IsHandOver(worker, found)) WakeForAny(*worker->scheduler, worker);
    }
    return found;
}

Found FindElsewhere(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t count = scheduler.workerCount;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t index = worker->victim + i < count ? worker->victim + i : worker->victim + i - count;
        Worker *victim = &scheduler.workers[index];
        if (victim == worker) continue;
        Found found = ReadyFiber(worker, victim);
        for (uint32_t lane = 0; lane < kLanes && !found && ability == Ability::Tasks; ++lane) found = OldestTask(worker, victim, lane);
        if (found) {
            worker->victim = index;  // where there was some there may be more
            return found;
        }
    }
    return {};
}

bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        TaskEntry entry;
        if (!worker->lanes[lane].Peek(entry) || entry.TheCounter() != counter || entry.Stack() > most) continue;
        if (!worker->lanes[lane].Pop(entry)) continue;  // a thief was faster
        ClaimEntry(worker, entry, lane, false);         // nobody else pushes here: it is the one that we saw
        return true;
    }
    return false;
}

bool AnyWork(const Worker *worker, Ability ability) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    if (!worker->mailbox.IsEmpty() || worker->pinnedReady != nullptr || !scheduler.injector.IsEmpty()) return true;
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        const Worker &other = scheduler.workers[i];
        if (other.ready.Size() != 0) return true;
        for (uint32_t lane = 0; lane < kLanes && ability == Ability::Tasks; ++lane) {
            if (other.lanes[lane].Size() != 0) return true;
        }
    }
    if (ability != Ability::Tasks) return scheduler.pool.AnyFree(StackClass::Small);
    return scheduler.largeBacklog.load(kSeqCst) != 0 && scheduler.pool.AnyFree(StackClass::Large);
}

bool AnyTask(const Scheduler &scheduler) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        const Worker &worker = scheduler.workers[i];
        for (const WorkStealingDeque<TaskEntry> &lane : worker.lanes) {
            if (lane.Size() != 0) return true;
        }
    }
    return false;
}

}  // namespace weft::internal
