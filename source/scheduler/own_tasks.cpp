#include "scheduler/own_tasks.h"

#include "scheduler/claim.h"
#include "scheduler/pinned.h"
#include "scheduler/ready.h"
#include "scheduler/timing.h"
#include "scheduler/wait_any.h"

namespace weft::internal {

bool Serving::IsAwaited(const Counter *counter) const noexcept {
    if (counter == nullptr) return false;
    if (counter == m_own->counter) return true;
    for (const WaitFrame *frame = m_own->fiber->waits; frame != m_own->outside; frame = frame->outer) {
        if (frame->counter == counter) return true;
    }
    return false;
}

bool Serving::Needs(const Fiber &fiber) noexcept {
    if (&fiber == m_own->fiber) return true;
    // The fiber is ready, so the counter that it has waited for may be gone. relaxed: the fiber does not run, so nobody writes this.
    return ClimbFrom(fiber, fiber.waitsFor.load(kRelaxed), nullptr);
}

bool Serving::ClimbFrom(const Fiber &fiber, const Counter *without, const Step *below) noexcept {
    for (const WaitFrame *frame = fiber.waits; frame != nullptr; frame = frame->outer) {
        if (frame->counter != without && Climb(frame->counter, below)) return true;
    }
    return Climb(fiber.taskCounter, below);
}

bool Serving::ClimbOwner(uint32_t owner, const Step &step) noexcept {
    Scheduler &scheduler = *m_worker->scheduler;
    if ((owner & kThreadOwner) != 0) return false;
    if ((owner & kAnyOwner) != 0) return Climb(&GateOf(scheduler, owner), &step);
    if ((owner & kTaskOwner) != 0) return Climb(scheduler.singles.At(owner & ~kTaskOwner).counter, &step);
    const Fiber &fiber = scheduler.fibers[owner];
    return &fiber == m_own->fiber || ClimbFrom(fiber, step.counter, &step);
}

struct Serving::Asked {
    Serving &serving;
    const Step &step;
    bool isNeeded = false;
};

bool Serving::Climb(Counter *counter, const Step *below) noexcept {
    constexpr uint32_t kHighest = 64;  // limits the recursion: a climb fits on a small stack
    if (counter == nullptr || counter == m_not) return false;
    if (IsAwaited(counter)) return true;
    const uint32_t height = below != nullptr ? below->height + 1 : 0;
    if (height == kHighest) return false;
    for (const Step *step = below; step != nullptr; step = step->below) {
        if (step->counter == counter) return false;
    }
    Scheduler &scheduler = *m_worker->scheduler;
    CounterStorage &storage = CounterAccess::Word(*counter);
    // seq_cst: comes after the worker's announcement that it sleeps. A waiter that registers later looks for sleepers after that.
    const CounterWord word{storage.load(kSeqCst)};
    if (word.Head() == 0 && !word.IsSorting()) return false;
    const Step step{counter, below, height};
    Asked asked{*this, step};
    const auto ask = [](uint32_t owner, void *context) {
        Asked &its = *static_cast<Asked *>(context);
        its.isNeeded = its.isNeeded || its.serving.ClimbOwner(owner, its.step);
        return false;  // the record stays on the list
    };
    uint32_t woken = 0;
    scheduler.counters.RemoveIf(storage, {ask, &asked, ~0u}, woken, CacheOf(m_worker));
    WakeOwners(scheduler, m_worker, woken);
    if (!asked.isNeeded) m_not = counter;
    return asked.isNeeded;
}

namespace {

// Whether some worker is open. It looks for work of all priorities after its current task. An attached thread may never look.
bool AnyOpen(const Scheduler &scheduler) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        if (!scheduler.workers[i].restricted.load(kSeqCst) && scheduler.IsActive(i) && scheduler.RunsLow(i))
            return true;
    }
    return false;
}

bool HasFiberFor(const Worker *worker, StackClass stack) noexcept {
    return stack == StackClass::Small || (worker->current != &worker->threadFiber && RunsOnLarge(worker)) ||
           worker->scheduler->pool.AnyFree(StackClass::Large);
}

bool MayTake(const Worker *worker, uint32_t lane) noexcept {
    return (PriorityOf(lane) != Priority::Low || worker->scheduler->RunsLow(worker->index)) &&
           HasFiberFor(worker, ClassOf(lane));
}

// Claims the oldest task of a lane if the waiter itself waits for its counter. Tries all lanes of all workers.
Found Awaited(Worker *worker, const Serving &serving) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    const auto isAwaited = [&](const TaskEntry &entry) { return serving.IsAwaited(entry.TheCounter()); };
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!MayTake(worker, lane)) continue;
        for (uint32_t i = 0; i < slots; ++i) {
            WorkStealingDeque<TaskEntry> &deque = scheduler.workers[i].lanes[lane];
            TaskEntry entry;
            if (deque.LooksEmpty() || deque.StealIf(entry, isAwaited) != StealResult::Taken) continue;
            ClaimEntry(worker, entry, PriorityOf(lane), i != worker->index);
            return {nullptr, true};
        }
    }
    return {};
}

// Goes once through the ready fibers and tasks in the queues of all workers, up to the first that the wait depends on.
class Dig {
public:
    Dig(Worker *worker, Serving &serving, bool takes) noexcept : m_worker(worker), m_serving(serving), m_takes(takes) {}

    bool Fibers() noexcept {
        return ForWorkers([this](Worker &owner) {
            for (WorkStealingDeque<uint64_t> &ready : owner.ready) {
                if (FiberOf(ready)) return true;
            }
            return false;
        });
    }
    bool Tasks() noexcept {
        return ForWorkers([this](Worker &owner) {
            for (uint32_t lane = 0; lane < kLanes; ++lane) {
                if (MayTake(m_worker, lane) && TaskOf(owner.lanes[lane], lane, &owner != m_worker)) return true;
            }
            return false;
        });
    }
    Found Result() const noexcept { return m_found; }
    bool HasMoved() const noexcept { return m_hasMoved; }

private:
    template <class Visit>
    bool ForWorkers(Visit visit) noexcept {
        Scheduler &scheduler = *m_worker->scheduler;
        const uint32_t slots = scheduler.Slots();
        for (uint32_t i = 0; i < slots; ++i) {
            if (visit(scheduler.workers[(m_worker->index + i) % slots])) return true;
        }
        return false;
    }

    template <class Item>
    static bool Take(WorkStealingDeque<Item> &deque, Item &item) noexcept {
        StealResult result;
        do {
            result = deque.Steal(item);
        } while (result == StealResult::Lost);
        return result == StealResult::Taken;
    }

    bool FiberOf(WorkStealingDeque<uint64_t> &ready) noexcept {
        Scheduler &scheduler = *m_worker->scheduler;
        uint64_t index;
        for (uint64_t left = ready.Size(); left != 0 && Take(ready, index); --left) {
            Fiber *fiber = &scheduler.fibers[index];
            const bool isNeeded = m_serving.Needs(*fiber);
            if (isNeeded && m_takes) {
                m_found.fiber = fiber;
                return true;
            }
            m_hasMoved = true;
            if (!PushReady(m_worker, fiber)) Inject(scheduler, fiber);
            if (isNeeded) return true;
        }
        return false;
    }

    bool TaskOf(WorkStealingDeque<TaskEntry> &deque, uint32_t lane, bool stolen) noexcept {
        TaskEntry entry;
        for (uint64_t left = deque.Size(); left != 0 && Take(deque, entry); --left) {
            const bool isNeeded = m_serving.Needs(entry.TheCounter());
            if (isNeeded && m_takes) {
                ClaimEntry(m_worker, entry, PriorityOf(lane), stolen);
                m_found.claimed = true;
                return true;
            }
            m_hasMoved = true;
            PushEntry(m_worker, lane, entry);
            if (isNeeded) return true;
        }
        return false;
    }

    Worker *m_worker;
    Serving &m_serving;
    const bool m_takes;
    bool m_hasMoved = false;
    Found m_found;
};

// Whether it found something that the wait depends on. Does not look if a worker is open, which will run it.
bool GoThroughAll(Worker *worker, Serving &serving, bool takes, bool tasks, Found &found) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (AnyOpen(scheduler)) return false;
    Dig dig(worker, serving, takes);
    bool any;
    {
        const SpinLock::Held held(scheduler.digs);
        TakeArrivals(worker, Priority::Low);
        any = dig.Fibers() || (tasks && dig.Tasks());
    }
    // While an item was held, a worker may have looked, missed it, and gone to sleep: one that has become open since, or one in a wait with
    // HighOnly or NormalOrHigher.
    if (dig.HasMoved()) WakeOther(scheduler, worker);  // [re-check]
    found = dig.Result();
    return any;
}

}  // namespace

Found FindServing(Worker *worker, bool tasks) noexcept {
    TellDueNow(worker);
    Serving serving(worker);
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        found = PinnedFiber(worker, priority, &serving);
        if (!found && tasks) found = PinnedTask(worker, priority, RunsOnLarge(worker), &serving);
    }
    if (!found && tasks) found = Awaited(worker, serving);
    if (!found) GoThroughAll(worker, serving, true, tasks, found);
    return found;
}

bool AnyServing(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const bool tasks = scheduler.pool.AnyFree(StackClass::Small) || !scheduler.pool.IsStarved(worker->index);
    Serving serving(worker);
    Found none;
    return AnyPinnedFor(worker, serving, tasks) || GoThroughAll(worker, serving, false, tasks, none);
}

void WakeOwnNow(Scheduler &scheduler) noexcept {
    const bool all = !AnyOpen(scheduler);
    scheduler.idle.TakeEach(
        scheduler.Slots(), Ability::OwnTasks,
        [&](uint32_t index) {
            Worker &worker = scheduler.workers[index];
            // relaxed: the worker writes this before it announces that it sleeps, and the announcement has been seen.
            return all || worker.keepsTasks.load(kRelaxed);
        },
        [&](uint32_t index) { scheduler.workers[index].parker.Unpark(); });
}

}  // namespace weft::internal
