// Implements ordered.h.
#include "scheduler/find/ordered.h"

#include "scheduler/find/arrivals.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/own_tasks.h"
#include "scheduler/find/pinned.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/timing.h"

#include <utility>

namespace weft::internal {

namespace {

constexpr Priority kAllPriorities[] = {Priority::High, Priority::Normal, Priority::Low};

// Takes item number `index`, counted from the oldest. The others keep their order. A push finds the
// place of the item that was taken before it, so it needs no memory.
template <class Item>
bool TakeAt(WorkStealingDeque<Item> &items, uint64_t index, Item &taken) noexcept {
    const uint64_t size = items.Size();
    if (index == 0) return items.TakeOldest(taken);
    if (index + 1 == size) return items.Pop(taken);
    for (uint64_t i = 0; i < size; ++i) {
        Item item;
        if (!items.TakeOldest(item)) return false;
        if (i == index) {
            taken = item;
        } else {
            items.Push(item);
        }
    }
    return true;
}

// A queue of the worker from which the next item may come.
struct Source {
    enum class Kind : uint8_t { PinnedFibers, PinnedTasks, ReadyFibers, Tasks } kind;
    uint8_t index;   // of the priority, level or lane
    uint64_t items;  // how many of its items may be next
};

// The queues with items that may run now, the usual one first.
class Sources {
public:
    Sources(Worker *worker, WorkerMode mode, bool afterYield) noexcept
        : m_worker(worker),
          m_any(mode != WorkerMode::PinnedOnly),
          m_runs(mode != WorkerMode::ReadyFibersOnly && worker->current != &worker->threadFiber) {
        // After a yield, tasks go first, and the two kinds of fibers take turns. Otherwise fibers
        // that yield again and again could keep all other work from running in a run that has
        // drawn all its choices.
        if (!afterYield) {
            for (const Priority priority : kAllPriorities) {
                AddPinnedFibers(priority);
                AddPinnedTasks(priority);
                AddReadyFibers(priority);
                AddTasks(priority);
            }
            return;
        }
        worker->pinnedNext = !worker->pinnedNext;
        for (const Priority priority : kAllPriorities) {
            AddPinnedTasks(priority);
            AddTasks(priority);
        }
        for (const Priority priority : kAllPriorities) {
            if (worker->pinnedNext) AddPinnedFibers(priority);
            AddReadyFibers(priority);
            if (!worker->pinnedNext) AddPinnedFibers(priority);
        }
    }

    uint64_t Items() const noexcept { return m_items; }

    /// Takes item number `item` of all. If that is not possible, leaves its queue out from now on.
    Found Take(uint64_t item) noexcept {
        uint32_t i = 0;
        for (; item >= m_sources[i].items; ++i) item -= m_sources[i].items;
        const Found found = TakeFrom(m_sources[i], item);
        if (!found) m_items -= std::exchange(m_sources[i].items, 0);
        return found;
    }

private:
    void Add(Source::Kind kind, uint32_t index, uint64_t items) noexcept {
        if (items == 0) return;
        m_sources[m_count++] = {kind, static_cast<uint8_t>(index), items};
        m_items += items;
    }
    void AddPinnedFibers(Priority priority) noexcept {
        const uint32_t i = static_cast<uint32_t>(priority);
        uint64_t fibers = 0;
        for (const InboxItem *item = m_worker->pinnedFibers[i].first; item != nullptr;
             item = item->next)
            ++fibers;
        Add(Source::Kind::PinnedFibers, i, fibers);
    }
    void AddPinnedTasks(Priority priority) noexcept {
        const uint32_t i = static_cast<uint32_t>(priority);
        const bool mayRun = m_runs && MayBegin(*m_worker, priority);
        Add(Source::Kind::PinnedTasks, i, mayRun && m_worker->pinnedTasks[i].first != nullptr);
    }
    template <class AddLevel>
    void ForLevels(Priority priority, AddLevel add) noexcept {
        for (uint32_t i = static_cast<uint32_t>(priority); i < m_worker->scheduler->Levels();
             i += kPriorities) {
            if (m_any && MayRun(*m_worker, LevelAt(i))) add(LevelAt(i));
        }
    }
    void AddReadyFibers(Priority priority) noexcept {
        ForLevels(priority, [&](Level level) {
            const uint32_t i = level.Index();
            Add(Source::Kind::ReadyFibers, i, m_worker->ready[i].Size());
        });
    }
    void AddTasks(Priority priority) noexcept {
        if (!m_runs) return;
        ForLevels(priority, [&](Level level) {
            for (const StackClass stack : {StackClass::Large, StackClass::Small}) {
                const uint32_t lane = LaneOf(level, stack);
                if (CanRun(m_worker, stack))
                    Add(Source::Kind::Tasks, lane, m_worker->lanes[lane].Size());
            }
        });
    }

    Found TakeFrom(const Source &source, uint64_t item) noexcept {
        switch (source.kind) {
            case Source::Kind::PinnedFibers:
                return TakePinned(source.index, item);
            case Source::Kind::PinnedTasks:
                return PinnedTask(m_worker, static_cast<Priority>(source.index),
                                  RunsOnLarge(m_worker));
            case Source::Kind::ReadyFibers: {
                uint64_t fiber = 0;
                if (!TakeAt(m_worker->ready[source.index], item, fiber)) return {};
                return {&m_worker->scheduler->fibers[fiber], false};
            }
            case Source::Kind::Tasks: {
                TaskEntry entry;  // the newest one is number 0
                if (!TakeAt(m_worker->lanes[source.index], source.items - 1 - item, entry))
                    return {};
                ClaimEntry(m_worker, entry, LevelOf(source.index), m_worker->index);
                return {nullptr, true};
            }
        }
        return {};
    }
    Found TakePinned(uint32_t priority, uint64_t item) noexcept {
        InboxQueue &fibers = m_worker->pinnedFibers[priority];
        InboxItem **link = &fibers.first;
        for (; item != 0; --item) link = &(*link)->next;
        --m_worker->pinnedCount;
        ++m_worker->pinnedTaken[priority];
        return {static_cast<Fiber *>(fibers.Remove(link)), false};
    }

    Worker *const m_worker;
    const bool m_any;   // also work that is not pinned
    const bool m_runs;  // also tasks
    uint32_t m_count = 0;
    uint64_t m_items = 0;
    Source m_sources[2 * kPriorities + kLevels + kLanes];
};

// Lets the earliest deadline fall due, and takes in what comes of it.
void PassToNext(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    scheduler.order.PassTo(scheduler.timers.Next());
    TellDue(scheduler, worker);
    SortInbox(worker);
    TakeArrivals(worker, Priority::Low);
}

// Returns true if the earliest deadline falls due before other work.
bool FallsDue(Scheduler &scheduler) noexcept {
    Order &order = scheduler.order;
    const uint64_t next = scheduler.timers.Next();
    if (next == Timers::kNever) return false;
    return next <= order.now || (next - order.now <= Order::kNear && order.Draw(order.early));
}

// Counts a pick. Returns false if there have been too many.
bool CountOrdered(Worker *worker) noexcept {
    Order &order = worker->scheduler->order;
    order.now += Order::kTick;
    return ++order.picks < Order::kMostPicks;
}

// Gives up, because there have been too many picks. Returns the host, which continues.
Found EndEndless(Worker *worker) noexcept {
    GiveUp(worker, "does not end: it has picked 2,000,000 pieces of work");
    return {worker->scheduler->order.host, false};
}

// Draws one of the items that may run now. `isIdle`: the worker has nothing else to do.
Found DrawNext(Worker *worker, WorkerMode mode, bool isIdle) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Order &order = scheduler.order;
    const bool afterYield = std::exchange(worker->taskBeforeReady, false);
    for (;;) {
        Sources sources(worker, mode, afterYield);
        while (sources.Items() != 0 && !FallsDue(scheduler)) {
            if (!CountOrdered(worker)) return EndEndless(worker);
            if (const Found found = sources.Take(order.Choose(sources.Items()))) return found;
        }
        const uint64_t next = scheduler.timers.Next();
        const bool mustPass = isIdle ? next != Timers::kNever : next <= order.now;
        if (sources.Items() == 0 && !mustPass) return {};
        PassToNext(worker);
    }
}

// Moves some of the oldest items to the newest end.
template <class Item>
void Rotate(Order &order, WorkStealingDeque<Item> &items) noexcept {
    const uint64_t size = items.Size();
    if (size == 0) return;
    Item item;
    for (uint64_t left = order.Choose(size); left != 0 && items.TakeOldest(item); --left)
        items.Push(item);
}

// Finds what a wait with OwnTasks depends on. FindServing takes the first item of this kind, so the
// queues begin with an item that is drawn.
Found DrawServing(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    for (;;) {
        while (FallsDue(scheduler)) PassToNext(worker);
        TakeArrivals(worker, Priority::Low);
        const uint32_t lanes = scheduler.Lanes(), levels = scheduler.Levels();
        for (uint32_t lane = 0; lane < lanes; ++lane) Rotate(scheduler.order, worker->lanes[lane]);
        for (uint32_t level = 0; level < levels; ++level)
            Rotate(scheduler.order, worker->ready[level]);
        const Found found = FindServing(worker);
        if (found) CountOrdered(worker);
        if (found || scheduler.timers.Next() == Timers::kNever) return found;
        PassToNext(worker);
    }
}

}  // namespace

Found FindOrdered(Worker *worker, WorkerMode mode) noexcept {
    worker->wakePending = false;  // there is no other worker
    if (mode == WorkerMode::OwnTasks) return DrawServing(worker);
    return DrawNext(worker, mode, true);
}

Found FindPinnedOrdered(Worker *worker) noexcept {
    const bool afterYield = std::exchange(worker->taskBeforeReady, false);
    // the fiber that pumps may go next
    if (afterYield && worker->scheduler->order.Choose(2) == 0) return {};
    Sources sources(worker, WorkerMode::PinnedOnly, afterYield);
    Found found;
    while (!found && sources.Items() != 0)
        found = sources.Take(worker->scheduler->order.Choose(sources.Items()));
    return found;
}

Found FindInstead(Worker *worker) noexcept {
    Order &order = worker->scheduler->order;
    if (!CountOrdered(worker)) return EndEndless(worker);
    if (worker->own != nullptr || !order.Draw(order.yields)) return {};
    SortInbox(worker);
    TakeArrivals(worker, Priority::Low);
    return DrawNext(worker, WorkerMode::Tasks, false);
}

bool FindOfCounterOrdered(Worker *worker, Counter *counter, StackClass most) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    // Goes through the lanes that may hold tasks of the counter. Calls take(lane, index), with the
    // newest one first, until it returns true.
    const auto search = [&](auto take) {
        const uint32_t lanes = scheduler.Lanes();
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            if (ClassOf(lane) > most || !Runs(*worker, LevelOf(lane)) ||
                LevelOnTop(scheduler, worker->current->level, LevelOf(lane)).IsNone())
                continue;
            WorkStealingDeque<TaskEntry> &items = worker->lanes[lane];
            bool isTaken = false;
            for (uint64_t left = items.Size(); left != 0; --left) {
                TaskEntry entry;
                if (!items.TakeOldest(entry)) break;
                if (!isTaken && entry.TheCounter() == counter && take(lane, entry)) {
                    isTaken = true;
                } else {
                    items.Push(entry);
                }
            }
            if (isTaken) return true;
        }
        return false;
    };
    uint64_t count = 0;
    search([&](uint32_t, const TaskEntry &) {
        ++count;
        return false;
    });
    if (count == 0 || scheduler.order.Choose(2) != 0) return false;
    // The usual one is the newest, which is the last one of the search.
    uint64_t before = count - 1 - scheduler.order.Choose(count);
    TaskEntry taken;
    uint32_t from = 0;
    search([&](uint32_t lane, const TaskEntry &entry) {
        if (before-- != 0) return false;
        taken = entry;
        from = lane;
        return true;
    });
    ClaimEntry(worker, taken, LevelOf(from), worker->index);
    worker->claim.level = LevelOnTop(scheduler, worker->current->level, LevelOf(from));
    CountOrdered(worker);
    return true;
}

void GiveUp(Worker *worker, const char *how) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    Order &order = scheduler.order;
    constexpr const char *kHint =
        "Run it again with this SchedulerOptions::order, and look at the tasks in a debugger.";
    const auto number = static_cast<unsigned long long>(order.number);
    const auto choices = static_cast<unsigned long long>(order.choices);
    Fiber *host = order.host;
    // Other threads that are in a call would find no scheduler.
    if (host == nullptr || scheduler.guests.load(kRelaxed) > 1) {
        ReportFatal(scheduler.options, ReportCode::Stalled, kHint,
                    "order %#llx %s, after %llu choices", number, how, choices);
    }
    if (order.tells) {
        ReportMistake(scheduler.options, ReportCode::Stalled, kHint,
                      "order %#llx %s, after %llu choices", number, how, choices);
    }
    order.isGivenUp = true;
    if (TakePinnedFiber(worker, host)) return;
    uint32_t woken = 0;
    Counter &counter = *host->waitsFor.load(kRelaxed);  // it waits, on this thread
    scheduler.counters.Remove(CounterAccess::Word(counter), host->index, woken, CacheOf(worker));
}

}  // namespace weft::internal
