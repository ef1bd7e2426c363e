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
    Entry entry;
    for (uint64_t left = queue.Size(); left != 0 && queue.TakeOldest(entry); --left) {
        if (!isTaken && wants(entry)) {
            taken = entry;
            isTaken = true;
        } else {
            queue.Push(entry);
        }
    }
    return isTaken;
}

// Takes the pinned work before which are `before` others that could come next: fibers, and the
// first tasks. If there are not so many, lowers `before` by their number.
Work TakePinnedAt(Worker &worker, Level level, uint64_t &before) noexcept {
    if ((worker.filter.pinned & level.Bit()) == 0) return {};
    bool isFirst = true;
    return TakePinnedIf(worker, level.ThePriority(), [&](Node &node) {
        if (!MayTake(worker, node)) return false;
        const bool isNext = node.kind == Node::Kind::Fiber || std::exchange(isFirst, false);
        return isNext && before-- == 0;
    });
}

// The same for the own deque. The usual order takes its newest entry.
Work TakeOwnAt(Worker &worker, Level level, bool oldestFirst, uint64_t &before) noexcept {
    Queue &queue = worker.queue[level.Index()];
    const uint64_t size = worker.filter.May(level) ? queue.Size() : 0;
    if (before >= size) {
        before -= size;
        return {};
    }
    uint64_t older = oldestFirst ? before : size - 1 - before;
    Work work{{}, level, false};
    TakeIf(queue, work.entry, [&](const Entry &) { return older-- == 0; });
    return work;
}

// The same for all places. The usual one comes first. After a yield the oldest entries come first,
// and levels take turns. Otherwise fibers that yield again and again could keep all other work from
// running in a run that has drawn all its choices.
Work TakeAt(Worker &worker, bool afterYield, uint64_t &before) noexcept {
    const uint32_t turn = afterYield ? worker.fair.turn : 0;
    const uint32_t levels = LevelsToLookAt(worker);
    Work work;
    for (uint32_t i = 0; i < kLevels && !work; ++i) {
        const Level level = Level::At((turn / 2 + i) % kLevels);
        if ((levels & level.Bit()) == 0) continue;
        if (turn % 2 == 0) work = TakePinnedAt(worker, level, before);
        if (!work) work = TakeOwnAt(worker, level, afterYield, before);
        if (!work && turn % 2 != 0) work = TakePinnedAt(worker, level, before);
    }
    return work;
}

// Returns how many entries may run now.
uint64_t CountEntries(Worker &worker) noexcept {
    constexpr uint64_t kMost = ~uint64_t{0};
    uint64_t before = kMost;
    TakeAt(worker, false, before);
    return kMost - before;
}

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
    Fiber *host = order.host;
    // Other threads that are in a call would find no scheduler.
    const bool isFatal = host == nullptr || scheduler.guests.count.load(kRelaxed) > 1;
    const auto report = isFatal ? ReportFatal : ReportMistake;
    if (isFatal || order.tells)
        report(scheduler.options, ReportCode::Stalled,
               "Run it again with this SchedulerOptions::order, and look at the tasks in a "
               "debugger.",
               "order %#llx %s, after %llu choices",
               static_cast<unsigned long long>(scheduler.options.order), how,
               static_cast<unsigned long long>(order.choices));
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
        const uint64_t size = queue.Size();
        uint64_t older = size != 0 ? worker.scheduler->order->Choose(size) : 0;
        for (Entry entry; older != 0 && queue.TakeOldest(entry); --older) queue.Push(entry);
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
        const uint64_t entries = CountEntries(worker);
        if (FallsDue(scheduler, entries == 0)) {
            order.PassTo(scheduler.timers.Next());
            continue;
        }
        if (!Count(order)) {
            GiveUp(worker, "does not end: it has picked 2,000,000 pieces of work");
            break;
        }
        if (worker.ownWaits != nullptr) return PickOwnDrawn(worker);
        if (entries == 0) return {};
        uint64_t before = order.Choose(entries);
        return TakeAt(worker, afterYield, before);
    }
    return {Entry::Of(*order.host), order.host->level, true};
}

bool DrawPoint(Worker &worker) noexcept {
    Order &order = *worker.scheduler->order;
    if (!Count(order)) return true;
    if (worker.ownWaits != nullptr || worker.comesNext != nullptr || !order.Draw(order.yields))
        return false;
    TakeArrivals(worker);
    return CountEntries(worker) != 0;
}

bool DrawInline(Worker &worker, const Counter &counter, uint32_t levels, Entry &entry) noexcept {
    Order &order = *worker.scheduler->order;
    uint64_t number = 0;
    const auto search = [&](auto takes) {
        for (uint32_t left = levels; left != 0; left &= left - 1) {
            if (TakeIf(worker.queue[LowestBit(left)], entry,
                       [&](const Entry &next) { return next.TheCounter() == &counter && takes(); }))
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
    const bool isEnding =
        scheduler.endWanted.load(kSeqCst) && scheduler.guests.count.load(kSeqCst) > 1;
    if (isOutside || isEnding) return false;
    if (scheduler.order->tells) TellStall(scheduler);
    GiveUp(worker, "ends in a stall");
    return true;
}

}  // namespace weft::internal
