// Implements the search of own_tasks.h. It runs under Scheduler::climbs, so that one worker
// searches at a time.
#include "scheduler/find/own_tasks.h"

#include "scheduler/find/arrivals.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/serving.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Returns true if the worker may run tasks of this lane and has a fiber for them.
bool MayTake(const Worker *worker, uint32_t lane) noexcept {
    return Runs(*worker, LevelOf(lane)) && CanRun(worker, ClassOf(lane));
}

// Claims the oldest task of a lane if the waiter waits for the task's counter. Tries all lanes of
// all workers.
Found Awaited(Worker *worker, const Serving &serving) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    const auto isAwaited = [&](const TaskEntry &entry) {
        return serving.IsAwaited(entry.TheCounter());
    };
    const uint32_t lanes = scheduler.Lanes();
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        if (!MayTake(worker, lane)) continue;
        for (uint32_t i = 0; i < slots; ++i) {
            WorkStealingDeque<TaskEntry> &deque = scheduler.workers[i].lanes[lane];
            TaskEntry entry;
            if (deque.LooksEmpty() || deque.StealIf(entry, isAwaited) != StealResult::Taken)
                continue;
            ClaimEntry(worker, entry, LevelOf(lane), i);
            return {nullptr, true};
        }
    }
    return {};
}

// Goes once through the ready fibers and tasks in the queues of all workers, until it finds one
// that the wait depends on.
class Dig {
public:
    Dig(Worker *worker, Serving &serving) noexcept : m_worker(worker), m_serving(serving) {}

    Found Fibers() noexcept {
        return ForWorkers([this](Worker &owner) {
            Found found;
            for (uint32_t i = 0; i < m_worker->scheduler->Levels() && !found; ++i) {
                if (Runs(*m_worker, LevelAt(i))) found = FiberOf(owner.ready[i]);
            }
            return found;
        });
    }
    Found Tasks() noexcept {
        return ForWorkers([this](Worker &owner) {
            Found found;
            for (uint32_t lane = 0; lane < m_worker->scheduler->Lanes() && !found; ++lane) {
                if (MayTake(m_worker, lane)) found = TaskOf(owner.lanes[lane], lane, owner.index);
            }
            return found;
        });
    }
    // Returns true if an item was moved that the wait does not depend on.
    bool HasMoved() const noexcept { return m_hasMoved; }

private:
    // Calls visit(owner) for each worker, this one first, until one call finds something.
    template <class Visit>
    Found ForWorkers(Visit visit) noexcept {
        Scheduler &scheduler = *m_worker->scheduler;
        const uint32_t slots = scheduler.Slots();
        Found found;
        for (uint32_t i = 0; i < slots && !found; ++i)
            found = visit(scheduler.workers[(m_worker->index + i) % slots]);
        return found;
    }

    // Takes each fiber once, the oldest first.
    Found FiberOf(WorkStealingDeque<uint64_t> &ready) noexcept {
        Scheduler &scheduler = *m_worker->scheduler;
        uint64_t index;
        for (uint64_t left = ready.Size(); left != 0 && ready.TakeOldest(index); --left) {
            Fiber *fiber = &scheduler.fibers[index];
            if (m_serving.Needs(*fiber)) return {fiber, false};
            m_hasMoved = true;
            if (!PushReady(m_worker, fiber)) Inject(scheduler, fiber);
        }
        return {};
    }

    // Takes each entry once, the oldest first.
    Found TaskOf(WorkStealingDeque<TaskEntry> &deque, uint32_t lane, uint32_t owner) noexcept {
        TaskEntry entry;
        for (uint64_t left = deque.Size(); left != 0 && deque.TakeOldest(entry); --left) {
            if (m_serving.Needs(entry.TheCounter())) {
                ClaimEntry(m_worker, entry, LevelOf(lane), owner);
                return {nullptr, true};
            }
            m_hasMoved = true;
            PushEntry(m_worker, lane, entry);
        }
        return {};
    }

    Worker *m_worker;
    Serving &m_serving;
    bool m_hasMoved = false;
};

constexpr uint64_t kFirstDig = 100'000, kMaxDig = 2'000'000;  // ns

// Sets the time of the next dig. `took`: how long the last dig took, in ns.
void DigAgainAfter(Worker *worker, uint64_t interval, uint64_t took = 0) noexcept {
    worker->digInterval = std::min(interval, kMaxDig);
    worker->digAt = env::Now() + std::max(worker->digInterval, 8 * took);
}

// Returns true if the caller is a loop on a fiber of the pool. A thread's own stack runs no tasks.
bool RunsTasks(const Worker *worker) noexcept { return worker->current != &worker->threadFiber; }

// Takes pinned work that the wait depends on.
Found PinnedServing(Worker *worker, Serving &serving) noexcept {
    const bool tasks = RunsTasks(worker);
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        found = PinnedFiber(worker, priority, &serving);
        if (!found && tasks) found = PinnedTask(worker, priority, RunsOnLarge(worker), &serving);
    }
    return found;
}

}  // namespace

void BeginOwn(Worker *worker, OwnWait *wait) noexcept {
    worker->own = wait;
    worker->awaits.store(wait->counter, kRelaxed);  // a hint
    DigAgainAfter(worker, kFirstDig);
}

bool AnyAwaited(const Worker *worker) noexcept {
    const Counter *const counter = worker->own->counter;
    if (counter == nullptr) return false;  // it waits for several
    const Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    const uint32_t lanes = scheduler.Lanes();
    bool isFound = false;
    const auto look = [&](const TaskEntry &entry) {
        isFound = entry.TheCounter() == counter;
        return false;  // takes nothing
    };
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        if (!Runs(*worker, LevelOf(lane)) ||
            (ClassOf(lane) == StackClass::Large && !scheduler.pool.AnyFree(StackClass::Large)))
            continue;
        for (uint32_t i = 0; i < slots && !isFound; ++i) {
            TaskEntry entry;
            scheduler.workers[i].lanes[lane].StealIf(entry, look);
        }
    }
    return isFound;
}

Found FindPinnedServing(Worker *worker) noexcept {
    const SpinLock::Held held(worker->scheduler->climbs);
    Serving serving(worker);
    return PinnedServing(worker, serving);
}

Found FindServing(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool tasks = RunsTasks(worker);
    const uint64_t begin = env::Now();
    const bool digs = begin >= worker->digAt || !AnyOpen(scheduler, worker->runs.load(kRelaxed));
    digs ? static_cast<void>(TakeArrivals(worker, Priority::Low)) : TellDueNow(worker);
    Serving serving(worker);
    Dig dig(worker, serving);
    Found found;
    {
        const SpinLock::Held held(scheduler.climbs);
        found = PinnedServing(worker, serving);
        if (!found && tasks) found = Awaited(worker, serving);
        if (!found && digs) found = dig.Fibers();
        if (!found && digs && tasks) found = dig.Tasks();
    }
    // While an item was held, another worker may have searched, missed it, and gone to sleep.
    if (dig.HasMoved()) WakeOther(scheduler, worker);  // [re-check]
    if (found) {
        DigAgainAfter(worker, kFirstDig);
    } else if (digs) {
        DigAgainAfter(worker, worker->digInterval * 2, env::Now() - begin);
    }
    return found;
}

}  // namespace weft::internal
