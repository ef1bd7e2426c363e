#include "scheduler/own_tasks.h"

#include "scheduler/arrivals.h"
#include "scheduler/claim.h"
#include "scheduler/pinned.h"
#include "scheduler/ready.h"
#include "scheduler/timing.h"
#include "scheduler/wait_any.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

bool Serving::IsAwaited(const Counter *counter) const noexcept {
    if (counter == nullptr) return false;
    if (counter == m_own->counter) return true;
    for (const WaitFrame *frame = m_own->fiber->waits; frame != m_own->outside;
         frame = frame->outer) {
        if (frame->counter == counter) return true;
    }
    return false;
}

bool Serving::Needs(const Fiber &fiber) noexcept {
    if (&fiber == m_own->fiber) return true;
    if (fiber.carries != nullptr && Climb(fiber.carries, nullptr)) return true;
    // The fiber is ready, so the counter that it has waited for may be gone: unless it yielded,
    // that is the innermost frame's. relaxed: the fiber does not run, so nobody writes this.
    return ClimbFrom(fiber, fiber.waitsFor.load(kRelaxed), nullptr);
}

// `waited`: what it waits for, or has waited for.
bool Serving::ClimbFrom(const Fiber &fiber, const Counter *waited, const Step *below) noexcept {
    const WaitFrame *frame = fiber.waits;
    if (frame != nullptr && frame->counter == waited) frame = frame->outer;
    for (; frame != nullptr; frame = frame->outer) {
        if (Climb(frame->counter, below)) return true;
    }
    return Climb(fiber.taskCounter, below);
}

bool Serving::ClimbOwner(uint32_t owner, const Step &step) noexcept {
    Scheduler &scheduler = *m_worker->scheduler;
    if ((owner & kThreadOwner) != 0) return false;
    if ((owner & kAnyOwner) != 0) return Climb(&GateOf(scheduler, owner), &step);
    if ((owner & kTaskOwner) != 0)
        return Climb(scheduler.singles.At(owner & ~kTaskOwner).counter, &step);
    const Fiber &fiber = scheduler.fibers[owner];
    return &fiber == m_own->fiber || ClimbFrom(fiber, step.counter, &step);
}

bool Serving::WasRefused(const Counter *counter) const noexcept {
    const uint32_t kept = std::min(m_refusals, kRefused);
    for (uint32_t i = 0; i < kept; ++i) {
        if (m_refused[i] == counter) return true;
    }
    return false;
}

struct Serving::Asked {
    Serving &serving;
    const Step &step;
    bool isNeeded = false;
};

bool Serving::Climb(Counter *counter, const Step *below) noexcept {
    if (counter == nullptr || WasRefused(counter)) return false;
    if (IsAwaited(counter)) return true;
    const uint32_t height = below != nullptr ? below->height + 1 : 0;
    bool isCut = height == kHighest;
    for (const Step *step = below; step != nullptr && !isCut; step = step->below)
        isCut = step->counter == counter;
    m_isCut = m_isCut || isCut;
    Scheduler &scheduler = *m_worker->scheduler;
    CounterStorage &storage = CounterAccess::Word(*counter);
    const CounterWord word{storage.load(kRelaxed)};  // RemoveIf decides
    if (isCut || (word.Head() == 0 && !word.IsSorting())) return false;
    const Step step{counter, below, height};
    Asked asked{*this, step};
    const auto ask = [](uint32_t owner, void *context) {
        Asked &its = *static_cast<Asked *>(context);
        its.isNeeded = its.isNeeded || its.serving.ClimbOwner(owner, its.step);
        return false;  // the record stays on the list
    };
    const bool wasCut = std::exchange(m_isCut, false);
    uint32_t woken = 0;
    scheduler.counters.RemoveIf(storage, {ask, &asked, ~0u}, woken, CacheOf(m_worker));
    WakeOwners(scheduler, m_worker, woken);
    if (!asked.isNeeded && !m_isCut) m_refused[m_refusals++ % kRefused] = counter;
    m_isCut = m_isCut || wasCut;
    return asked.isNeeded;
}

namespace {

// Whether some worker is open that runs all levels of `runs`. It looks for work of all of these
// after its current task. An attached thread may never look. relaxed: an older answer costs no more
// than the time until the next dig.
bool AnyOpen(const Scheduler &scheduler, uint32_t runs) noexcept {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        const Worker &worker = scheduler.workers[i];
        if (!worker.restricted.load(kRelaxed) && scheduler.IsActive(i) &&
            (runs & ~worker.runs.load(kRelaxed)) == 0)
            return true;
    }
    return false;
}

bool MayTake(const Worker *worker, uint32_t lane) noexcept {
    return Runs(*worker, LevelOf(lane)) && CanRun(worker, ClassOf(lane));
}

// Claims the oldest task of a lane if the waiter itself waits for its counter. Tries all lanes of
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
            ClaimEntry(worker, entry, LevelOf(lane), i != worker->index);
            return {nullptr, true};
        }
    }
    return {};
}

// Goes once through the ready fibers and tasks in the queues of all workers, up to the first that
// the wait depends on.
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
                if (MayTake(m_worker, lane))
                    found = MakeTask(owner.lanes[lane], lane, &owner != m_worker);
            }
            return found;
        });
    }
    bool HasMoved() const noexcept { return m_hasMoved; }

private:
    template <class Visit>
    Found ForWorkers(Visit visit) noexcept {
        Scheduler &scheduler = *m_worker->scheduler;
        const uint32_t slots = scheduler.Slots();
        Found found;
        for (uint32_t i = 0; i < slots && !found; ++i)
            found = visit(scheduler.workers[(m_worker->index + i) % slots]);
        return found;
    }

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

    Found MakeTask(WorkStealingDeque<TaskEntry> &deque, uint32_t lane, bool stolen) noexcept {
        TaskEntry entry;
        for (uint64_t left = deque.Size(); left != 0 && deque.TakeOldest(entry); --left) {
            if (m_serving.Needs(entry.TheCounter())) {
                ClaimEntry(m_worker, entry, LevelOf(lane), stolen);
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

// `took`: how long the last dig took, in ns.
void DigAgainAfter(Worker *worker, uint64_t interval, uint64_t took = 0) noexcept {
    worker->digInterval = std::min(interval, kMaxDig);
    worker->digAt = env::Now() + std::max(worker->digInterval, 8 * took);
}

// Whether the caller is a loop on a fiber of the pool. A thread's own stack runs no tasks.
bool RunsTasks(const Worker *worker) noexcept { return worker->current != &worker->threadFiber; }

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
    DigAgainAfter(worker, kFirstDig);
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
    // While an item was held, a worker may have looked, missed it, and gone to sleep.
    if (dig.HasMoved()) WakeOther(scheduler, worker);  // [re-check]
    if (found) {
        DigAgainAfter(worker, kFirstDig);
    } else if (digs) {
        DigAgainAfter(worker, worker->digInterval * 2, env::Now() - begin);
    }
    return found;
}

void WakeOwnNow(Scheduler &scheduler) noexcept {
    if (AnyOpen(scheduler, (1u << scheduler.Levels()) - 1)) return;
    WakeEach(scheduler, Ability::OwnTasks, [](uint32_t) { return true; });
}

}  // namespace weft::internal
