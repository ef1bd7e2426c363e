// Implements places.h.
#include "scheduler/policy/places.h"

#include "scheduler/state/groups.h"
#include "scheduler/state/order_access.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

// A flood of deadlines does not keep the worker here.
constexpr uint32_t kMostDue = 8;

// Deadlines up to this time are due.
uint64_t DueNow(const Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) ? scheduler.order->settled : env::Now();
}
bool MayBeDue(const Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) || scheduler.timers.MayBeDue();
}

// A deadline has come before the counter did: then the record is still on the counter, and this
// thread takes the fiber. Runs under the lock of the timers. So the fiber, which clears its timer
// after each wait, cannot begin another wait meanwhile.
bool ClaimTimer(Scheduler &scheduler, const Worker &worker, Timer &timer) noexcept {
    if ((timer.owner & kOwnerKind) != 0) return true;
    Fiber &fiber = scheduler.fibers[timer.owner];
    Counter *const counter = fiber.wait.counter.load(kRelaxed);
    if (counter == nullptr) return false;  // the counter came first
    fiber.wait.timedOut =
        scheduler.counters.Remove(CounterAccess::Word(*counter), fiber.index, worker.index);
    return fiber.wait.timedOut;
}

void TakeDueTimers(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const auto claim = [&](Timer &timer) { return ClaimTimer(scheduler, worker, timer); };
    uint32_t due[kMostDue];  // owners
    uint32_t count = 0;
    while (count < kMostDue) {
        Timer *const timer = scheduler.timers.TakeDue(DueNow(scheduler), claim);
        if (timer == nullptr) break;
        due[count++] = timer->owner;
    }
    while (count != 0) {  // the earliest one becomes the newest entry
        Emit(scheduler, &worker, TraceKind::Deadline);
        Tell(scheduler, &worker, due[--count]);
    }
    const auto any = [&] { return scheduler.timers.Next() != Timers::kNever; };
    if (!any()) scheduler.notices.Hide(Notices::kTimed, any);
}

// The oldest node becomes the newest entry, so that the owner takes the oldest first.
void TakeInjected(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    NodeQueue newestFirst;
    Node *const oldest = scheduler.injector.TakeAll();
    scheduler.notices.Hide(Notices::kInjected, [&] { return !scheduler.injector.IsEmpty(); });
    uint32_t nodes = 0;
    for (Node *node = oldest; node != nullptr; ++nodes) {
        Node *const next = node->next;
        newestFirst.PushFront(*node);
        node = next;
    }
    if (nodes != 0) Emit(scheduler, &worker, TraceKind::TakeInbox, nullptr, nodes);
    while (Node *const node = newestFirst.Take()) PushEntry(worker, node->level, Entry::Of(*node));
}

void TakeMail(Worker &worker) noexcept {
    for (Node *node = worker.inbox.TakeAll(); node != nullptr;) {
        Node *const next = node->next;
        if (node->kind == Node::Kind::Signal) {
            // Before NoteFilter reads what has changed. acquire: pairs with the exchange in
            // SignalAll. A thread that finds the signal set has made its change before.
            worker.isSignalled.exchange(false, kAcqRel);
            node = next;
            continue;
        }
        worker.pinned[static_cast<uint32_t>(node->level.priority)].PushBack(*node);
        node = next;
    }
    const uint32_t before = worker.filter.may;
    NoteFilter(worker);
    PassOn(worker, before);
}

}  // namespace

// A fiber may always go on, because its task has begun. While a task waits with OwnTasks, only its
// own fiber and the work that it wants may.
bool MayGoOn(const Worker &worker, Node &node) noexcept {
    const OwnWait *const latest = worker.ownWaits;
    if (node.kind == Node::Kind::Fiber && (latest == nullptr || latest->fiber == &node))
        return true;
    return ScopeThatWants(worker, Entry::Of(node)) != 0;
}

void PassOn(Worker &worker, uint32_t before) noexcept {
    for (uint32_t levels = before & ~worker.filter.may; levels != 0; levels &= levels - 1)
        Published(*worker.scheduler, &worker, Level::At(LowestBit(levels)), 2);
}

void PassWakeUpsOn(Worker &worker) noexcept {
    const uint32_t mine = worker.filter.isChoosy ? kAllLevels : kAllLevels & ~kPlainLevels;
    for (uint32_t levels = worker.filter.may & mine; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (AnyOf(worker, level)) Published(*worker.scheduler, &worker, level, 1);
    }
}

uint32_t ScopeThatWants(const Worker &worker, const Counter *counter, uint32_t scope) noexcept {
    const OwnWait *const latest = worker.ownWaits;
    const bool wants = latest != nullptr && (counter == latest->counter || scope == latest->scope);
    return wants ? latest->scope : 0;
}

void TakeArrivals(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t seen = scheduler.notices.Look();
    if ((seen & Notices::kTimed) != 0 && MayBeDue(scheduler)) TakeDueTimers(worker);
    if ((seen & Notices::kInjected) != 0) TakeInjected(worker);
    if (!worker.inbox.LooksEmpty() || IsStale(worker)) TakeMail(worker);  // the last: see IsStale
}

Work TakeOwn(Worker &worker, Level level) noexcept {
    Work work{{}, level, false};
    if ((worker.holds & level.Bit()) != 0 && !worker.queue[level.Index()].Pop(work.entry)) {
        work.entry = {};
        // only the owner adds entries
        worker.holds &= ~level.Bit();
    }
    return work;
}

Work TakePinned(Worker &worker, Level level) noexcept {
    if (level.slot != 0) return {};
    const bool may = static_cast<uint32_t>(level.priority) < worker.filter.limit;
    const auto wants = [&](Node &node) { return may || MayGoOn(worker, node); };
    Node *const node = worker.pinned[static_cast<uint32_t>(level.priority)].TakeIf(wants);
    NoteFilter(worker);
    if (node == nullptr) return {};
    return {Entry::Of(*node), node->level, true};
}

// While this worker holds the list, another may find it empty and sleep. So wakes one for the rest.
Work TakeBehind(Worker &worker, Level level) noexcept {
    PushList<Node> &behind = worker.scheduler->behind[level.Index()];
    Node *const oldest = behind.TakeAll();
    if (oldest == nullptr) return {};
    Node *rest = oldest->next;
    const bool any = rest != nullptr;
    while (rest != nullptr) behind.Push(std::exchange(rest, rest->next));
    if (any) Published(*worker.scheduler, &worker, level, 1);
    return {Entry::Of(*oldest), level, false};
}

Work TakeOldest(Worker &worker, Level level, bool othersFirst) noexcept {
    // A pinned task that yields again and again leaves each second turn to the others.
    const bool pinnedLast = worker.fair.turn % 2 == 0;
    const bool may = worker.filter.May(level);
    if (worker.filter.isSpecial && !pinnedLast) {
        if (const Work work = TakePinned(worker, level)) return work;
    }
    // A level that is late is served by such picks only. Then what lies behind must come first, or
    // it would starve. Otherwise it must not keep the worker from the deques of others.
    const bool isLate = worker.fair.serves == level.Index();
    if (may && othersFirst && !isLate) {
        if (const Work work = Steal(worker, level, true)) return work;
    }
    if (may) {
        if (const Work work = TakeBehind(worker, level)) return work;
    }
    if (may && othersFirst && isLate) {
        if (const Work work = Steal(worker, level, true)) return work;
    }
    Work work{{}, level, false};
    if (may && worker.queue[level.Index()].TakeOldest(work.entry)) return work;
    return worker.filter.isSpecial && pinnedLast ? TakePinned(worker, level) : Work{};
}

bool AnyOf(const Worker &worker, Level level) noexcept {
    if (level.slot == 0 && !worker.pinned[static_cast<uint32_t>(level.priority)].IsEmpty())
        return true;
    const Scheduler &scheduler = *worker.scheduler;
    if (!scheduler.behind[level.Index()].IsEmpty()) return true;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const auto &queue = scheduler.workers[i].queue[level.Index()];
        if (queue.IsAcquired() && queue.Size() != 0) return true;
    }
    return false;
}

bool AnyWork(const Worker &worker) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    for (uint32_t levels = worker.filter.may; levels != 0; levels &= levels - 1) {
        if (AnyOf(worker, Level::At(LowestBit(levels)))) return true;
    }
    return worker.filter.pinned != 0 || !worker.inbox.IsEmpty() || !scheduler.injector.IsEmpty() ||
           scheduler.timers.Next() <= DueNow(scheduler);
}

void NoteFilter(Worker &worker) noexcept {
    Filter &filter = worker.filter;
    // acquire: pairs with SignalAll. What RunsOf reads is as new as this number, or newer.
    filter.changes = worker.scheduler->changes.load(kAcquire);
    uint32_t limit = kPriorities;
    for (uint32_t i = kPriorities; i-- > 0;) {
        if (filter.limits[i] != 0) limit = i;
    }
    filter.limit = limit;
    const uint32_t runs = filter.runs = RunsOf(*worker.scheduler, worker);
    filter.may = runs & LevelsOf((1u << kSlots) - 1, limit);
    filter.heeds = Notices::kInjected | Notices::kTimed | Notices::kForValue | (runs & kHighLevels);
    const Level ofNone(Priority::Normal), ofGroup(Priority::Normal, worker.group + 1);
    filter.home = (runs & ofNone.Bit()) != 0 ? ofNone : ofGroup;
    filter.isChoosy = (filter.may & kPlainLevels) != kPlainLevels;
    filter.pinned = 0;
    for (uint32_t i = 0; i < kPriorities; ++i) {
        const bool mayBegin = i < limit;
        for (Node *node = worker.pinned[i].first; node != nullptr; node = node->next) {
            if (!mayBegin && !MayGoOn(worker, *node)) continue;
            filter.pinned |= Level(static_cast<Priority>(i)).Bit();
            break;
        }
    }
    filter.isSpecial = limit != kPriorities || filter.pinned != 0 ||
                       (runs & filter.home.Bit()) == 0 || worker.comesNext != nullptr ||
                       IsOrdered(*worker.scheduler);
}

}  // namespace weft::internal
