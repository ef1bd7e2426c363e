// Implements ordered.h.
#include "scheduler/policy/ordered.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/own_tasks.h"
#include "scheduler/policy/places.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"

#include <utility>

namespace weft::internal {

bool BeginOrder(Scheduler &scheduler) noexcept {
    if (scheduler.options.order == 0) return true;
    scheduler.order = scheduler.memory.NewArray<Order>(1);
    if (scheduler.order == nullptr) return false;
    scheduler.order->Begin(scheduler.options.order);
    scheduler.options.idle = IdlePolicy::Sleep;  // a search would take real time
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        scheduler.workers[i].submitBits |= kWatched;
        NoteFilter(scheduler.workers[i]);
    }
    orderedRuns.fetch_add(1, kRelaxed);
    return true;
}

void EndOrder(Scheduler &scheduler) noexcept {
    if (scheduler.order == nullptr) return;
    orderedRuns.fetch_sub(1, kRelaxed);
    scheduler.memory.DeleteArray(scheduler.order, 1);
}

namespace {

using Queue = WorkStealingDeque<Entry>;

// Takes the oldest entry for which wants(entry) returns true. The others keep their order. A push
// finds the place of the entry that was taken before it, so it needs no memory.
template <class Wants>
bool TakeIf(Queue &queue, Entry &taken, Wants wants) noexcept {
    bool isTaken = false;
    for (uint64_t left = queue.Size(); left != 0; --left) {
        Entry entry;
        if (!queue.TakeOldest(entry)) break;
        if (!isTaken && wants(entry)) {
            taken = entry;
            isTaken = true;
        } else {
            queue.Push(entry);
        }
    }
    return isTaken;
}

// The places with entries that may run now. The usual one comes first, and in it the entry that
// would usually be next.
class Places {
public:
    // After a yield the oldest entries come first, and levels take turns. Otherwise fibers that
    // yield again and again could keep all other work from running in a run that has drawn all its
    // choices.
    Places(Worker &worker, bool afterYield) noexcept : m_worker(worker), m_afterYield(afterYield) {
        const uint32_t levels = LevelsToLookAt(worker);
        const uint32_t first = afterYield ? worker.fair.turn / 2 % kLevels : 0;
        for (uint32_t i = 0; i < kLevels; ++i) {
            const Level level = Level::At((first + i) % kLevels);
            if ((levels & level.Bit()) == 0) continue;
            const bool pinnedLast = afterYield && worker.fair.turn % 2 != 0;
            if (!pinnedLast) AddPinned(level);
            const Queue &queue = worker.queue[level.Index()];
            if (worker.filter.May(level) && queue.IsAcquired()) Add(level, false, queue.Size());
            if (pinnedLast) AddPinned(level);
        }
    }

    uint64_t Entries() const noexcept { return m_entries; }

    Work Take(uint64_t number) noexcept {
        uint32_t i = 0;
        for (; number >= m_places[i].entries; ++i) number -= m_places[i].entries;
        const Place &place = m_places[i];
        if (place.isPinned) return TakePinnedAt(place.level, number);
        Work work{{}, place.level, false};
        uint64_t older = m_afterYield ? number : place.entries - 1 - number;
        TakeIf(m_worker.queue[place.level.Index()], work.entry,
               [&](const Entry &) { return older-- == 0; });
        return work;
    }

private:
    struct Place {
        Level level;
        bool isPinned;
        uint64_t entries;
    };

    void Add(Level level, bool isPinned, uint64_t entries) noexcept {
        if (entries == 0) return;
        m_places[m_count++] = {level, isPinned, entries};
        m_entries += entries;
    }
    // Calls take(node) for each fiber and for the first tasks, until it returns true.
    template <class Take>
    Node *PinnedIf(Level level, Take take) noexcept {
        bool isFirst = true;
        const bool may = static_cast<uint32_t>(level.priority) < m_worker.filter.limit;
        return m_worker.pinned[static_cast<uint32_t>(level.priority)].TakeIf([&](Node &node) {
            if (!may && !MayGoOn(m_worker, node)) return false;
            const bool isNext = node.kind == Node::Kind::Fiber || std::exchange(isFirst, false);
            return isNext && take();
        });
    }
    void AddPinned(Level level) noexcept {
        if (level.slot != 0) return;
        uint64_t nodes = 0;
        PinnedIf(level, [&] { return ++nodes == 0; });
        Add(level, true, nodes);
    }
    Work TakePinnedAt(Level level, uint64_t number) noexcept {
        Node *const node = PinnedIf(level, [&] { return number-- == 0; });
        NoteFilter(m_worker);
        return {Entry::Of(*node), node->level, true};
    }

    Worker &m_worker;
    const bool m_afterYield;
    uint32_t m_count = 0;
    uint64_t m_entries = 0;
    Place m_places[2 * kLevels];
};

// Returns true if the earliest deadline falls due before other work.
bool FallsDue(const Scheduler &scheduler, bool isAlone) noexcept {
    Order &order = *scheduler.order;
    const uint64_t next = scheduler.timers.Next();
    if (next == Timers::kNever || next <= order.now) return next != Timers::kNever;
    return !isAlone && next - order.now <= Order::kNear && order.Draw(order.early);
}

// Gives the run up, because it can never end: `how` says why. Takes the host from where it waits.
void GiveUp(Worker &worker, const char *how) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    Order &order = *scheduler.order;
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
    if (Counter *const counter = host->wait.counter.load(kRelaxed))
        scheduler.counters.Remove(CounterAccess::Word(*counter), host->index, worker.index);
    for (NodeQueue &queue : worker.pinned) queue.TakeIf([&](Node &node) { return &node == host; });
}

// Counts a pick. Returns false if there have been too many.
bool Count(Order &order) noexcept {
    order.now += Order::kTick;
    return ++order.picks < Order::kMostPicks;
}

Work PickOwnDrawn(Worker &worker) noexcept {
    for (uint32_t levels = worker.filter.runs; levels != 0; levels &= levels - 1) {
        Queue &queue = worker.queue[LowestBit(levels)];
        const uint64_t size = queue.IsAcquired() ? queue.Size() : 0;
        Entry entry;
        for (uint64_t left = size != 0 ? worker.scheduler->order->Choose(size) : 0; left != 0;
             --left) {
            if (queue.TakeOldest(entry)) queue.Push(entry);
        }
    }
    return PickOwn(worker);
}

}  // namespace

Work DrawNext(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    Order &order = *scheduler.order;
    const bool afterYield = std::exchange(worker.fair.isAsked, false);
    if (afterYield) ++worker.fair.turn;
    while (!order.isGivenUp) {
        TakeArrivals(worker);
        Places places(worker, afterYield);
        if (FallsDue(scheduler, places.Entries() == 0)) {
            order.PassTo(scheduler.timers.Next());
            continue;
        }
        if (!Count(order)) {
            GiveUp(worker, "does not end: it has picked 2,000,000 pieces of work");
            break;
        }
        if (worker.ownWaits != nullptr) return PickOwnDrawn(worker);
        return places.Entries() != 0 ? places.Take(order.Choose(places.Entries())) : Work{};
    }
    return {Entry::Of(*order.host), order.host->level, true};
}

bool DrawPoint(Worker &worker) noexcept {
    Order &order = *worker.scheduler->order;
    if (!Count(order)) return true;
    if (worker.ownWaits != nullptr || worker.comesNext != nullptr || !order.Draw(order.yields))
        return false;
    TakeArrivals(worker);
    return Places(worker, false).Entries() != 0;
}

bool DrawInline(Worker &worker, const Counter &counter, uint32_t levels, Entry &entry) noexcept {
    Order &order = *worker.scheduler->order;
    uint64_t number = 0;
    const auto search = [&](auto takes) {
        for (uint32_t left = levels; left != 0; left &= left - 1) {
            Queue &queue = worker.queue[LowestBit(left)];
            if (queue.IsAcquired() && TakeIf(queue, entry, [&](const Entry &next) {
                    return next.TheCounter() == &counter && takes();
                }))
                return true;
        }
        return false;
    };
    search([&] { return ++number == 0; });
    if (number == 0 || order.Choose(2) != 0) return false;
    // The usual one is the newest, which is the last one of the search.
    uint64_t before = number - 1 - order.Choose(number);
    Count(order);
    return search([&] { return before-- == 0; });
}

bool PassTime(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint64_t next = scheduler.timers.Next();
    if (next != Timers::kNever) {
        scheduler.order->PassTo(next);
        return true;
    }
    const bool isOutside = EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kAcquire) != 0;
    // At the end of the run, Stop waits for threads that are in a call.
    const bool isEnding = scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) > 1;
    if (isOutside || isEnding) return false;
    if (scheduler.order->tells) TellStall(scheduler);
    GiveUp(worker, "ends in a stall");
    return true;
}

}  // namespace weft::internal
