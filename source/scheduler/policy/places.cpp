// Implements places.h.
#include "scheduler/policy/places.h"

#include "scheduler/state/groups.h"
#include "scheduler/state/order.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Deadlines up to this time are due.
uint64_t DueNow(const Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) ? scheduler.order->settled : env::Now();
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

bool TakeDueTimers(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const auto claim = [&](Timer &timer) { return ClaimTimer(scheduler, worker, timer); };
    constexpr uint32_t kMostDue = 8;    // a flood of deadlines does not keep the worker here
    uint32_t due[kMostDue], count = 0;  // owners
    while (count < kMostDue) {
        Timer *const timer = scheduler.timers.TakeDue(DueNow(scheduler), claim);
        if (timer == nullptr) break;
        due[count++] = timer->owner;
    }
    for (uint32_t i = count; i != 0;) {  // the earliest one becomes the newest entry
        Emit(scheduler, &worker, TraceKind::Deadline);
        Tell(scheduler, &worker, due[--i]);
    }
    const auto any = [&] { return scheduler.timers.Next() != Timers::kNever; };
    if (!any()) scheduler.notices.Hide(Notices::kTimed, any);
    return count != 0;
}

// The oldest node becomes the newest entry, so that the owner takes the oldest first.
void TakeInjected(Worker &worker) noexcept {
    Node *next = worker.scheduler->injector.TakeNewestFirst();
    if (IsTraced(*worker.scheduler) && next != nullptr) {
        uint32_t nodes = 0;
        for (const Node *node = next; node != nullptr; node = node->next) ++nodes;
        Emit(*worker.scheduler, &worker, TraceKind::TakeInbox, nullptr, nodes);
    }
    while (next != nullptr) {
        Node &node = *std::exchange(next, next->next);
        PushEntry(worker, node.level, Entry::Of(node));
    }
}

void TakeMail(Worker &worker) noexcept {
    for (Node *next = worker.inbox.TakeAll(); next != nullptr;) {
        Node &node = *std::exchange(next, next->next);
        // Before NoteFilter reads what has changed. acquire: pairs with the exchange in SignalAll.
        // A thread that finds the signal set has made its change before.
        if (node.kind == Node::Kind::Signal)
            worker.isSignalled.exchange(false, kAcqRel);
        else
            worker.pinned[static_cast<uint32_t>(node.level.ThePriority())].PushBack(node);
    }
    NoteFilter(worker);
}

// A traced entry was stolen. A task needs a chunk then, which has room for the victim.
void NoteVictim(Worker &worker, Level level, Entry &entry, uint32_t victim) noexcept {
    if (entry.TheKind() == Entry::Fiber) return;
    Chunk &chunk = ChunkFor(worker, entry, level);
    chunk.stolenFrom = victim;
    if (entry.TheKind() == Entry::Task) entry = Entry::Of(chunk);
}

// Returns true if the worker must not steal of the level yet. If the ticks have begun anew, returns
// false.
bool Rests(Worker &worker, uint64_t now, Level level) noexcept {
    Thief &thief = worker.thief;
    const uint64_t time = now - thief.stoleAt;
    const uint64_t tasks = std::max<uint64_t>(worker.ended.load(kRelaxed) - thief.ended, 5);
    if (level == thief.restsFrom && std::exchange(thief.isBusy, false))
        thief.tookTiny = time < tasks * (worker.scheduler->tuning.millisecond / 5000);
    return time < thief.rest && level == thief.restsFrom && level.ThePriority() != Priority::High;
}

// A theft costs the victim cache misses, and suspends a task that waits for what was stolen. So if
// one follows less than 4 us after the one before and its rest, the worker does not steal of the
// level for up to 4 us, and for up to 16 us if loot was tiny. If one comes later, the rests end.
void NoteLoot(Worker &worker, uint64_t now, Level level) noexcept {
    Thief &thief = worker.thief;
    const uint64_t millisecond = worker.scheduler->tuning.millisecond;
    const bool rests = now < thief.stoleAt + thief.rest + millisecond / 250;
    const uint64_t most = millisecond / (thief.tookTiny ? 64 : 250);
    thief.rest = rests ? std::min(2 * thief.rest + millisecond / 1000, most) : 0;
    thief.ended = worker.ended.load(kRelaxed);
    thief.restsFrom = level;
    thief.stoleAt = now;
    thief.isBusy = thief.isPatient = true;
}

// Moves an eighth of the remaining entries to the own deque.
void TakeMore(Worker &worker, uint32_t victim, Level level) noexcept {
    constexpr uint64_t kMostMore = 24;
    WorkStealingDeque<Entry> &queue = worker.scheduler->workers[victim].queue[level.Index()];
    const uint64_t most = std::min(queue.Size() / 8, kMostMore);
    Entry more[kMostMore];
    uint32_t got = 0;
    while (got < most && queue.Steal(more[got]) == StealResult::Taken) ++got;
    if (got == 0) return;
    for (uint32_t i = 0; i < got && IsTraced(*worker.scheduler); ++i)
        NoteVictim(worker, level, more[i], victim);
    WorkStealingDeque<Entry> &own = worker.queue[level.Index()];
    if (!own.Reserve(got)) OutOfMemory(*worker.scheduler);
    for (uint32_t i = 0; i < got; ++i) own.Stage(got - 1 - i, more[i]);
    own.Publish(got);
    worker.holds |= level.Bit();
    Published(*worker.scheduler, &worker, level, got);
}

}  // namespace

bool MayTake(const Worker &worker, Node &node) noexcept {
    if (static_cast<uint32_t>(node.level.ThePriority()) < worker.filter.limit) return true;
    const OwnWait *const latest = worker.ownWaits;
    if (node.kind == Node::Kind::Fiber && (latest == nullptr || latest->fiber == &node))
        return true;
    const Entry entry = Entry::Of(node);
    return IsWanted(worker, entry.CounterOfIt(), entry.Scope());
}

bool TakeArrivals(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    if (!scheduler.injector.LooksEmpty()) TakeInjected(worker);
    const bool wasDue = (scheduler.notices.Look() & Notices::kTimed) != 0 &&
                        (IsOrdered(scheduler) || scheduler.timers.MayBeDue()) &&
                        TakeDueTimers(worker);
    if (!worker.inbox.LooksEmpty() || IsStale(worker)) TakeMail(worker);  // the last: see IsStale
    return wasDue;
}

Work TakePinned(Worker &worker, uint32_t levels) noexcept {
    const auto wants = [&](Node &node) { return MayTake(worker, node); };
    for (levels &= worker.filter.pinned; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (const Work work = TakePinnedIf(worker, level.ThePriority(), wants)) return work;
    }
    return {};
}

// After each steal, one search leaves a fiber that is alone in its deque: its worker probably
// continues it next (HandOver). But that one may not run it. So fair and High picks take it.
Work Steal(Worker &worker, Level level, bool isFair) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t slots = scheduler.Slots();
    if (slots <= 1) return {};
    Thief &thief = worker.thief;
    const uint64_t now = env::Ticks();
    if (Rests(worker, now, level)) return {};
    const bool isPatient = thief.isPatient && !isFair && level.ThePriority() != Priority::High;
    bool leaves = false;
    Work work{{}, level, false};
    thief.random = thief.random * 1664525 + 1013904223;  // Knuth, "The Art of Computer Programming"
    const uint32_t hint = isFair ? 0 : WakeHints::Take(worker.woken.by);
    const uint32_t first = isFair ? ++thief.round : hint != 0 ? hint - 1 : thief.random >> 16;
    uint32_t victim = first % slots;
    for (uint32_t i = 0; i < slots; ++i, victim = victim + 1 == slots ? 0 : victim + 1) {
        WorkStealingDeque<Entry> &queue = scheduler.workers[victim].queue[level.Index()];
        if (victim == worker.index || !queue.IsAcquired()) continue;
        thief.moves += queue.Moves();
        if (queue.LooksEmpty()) continue;
        const auto wants = [&](const Entry &entry) {
            const bool isAlone = entry.TheKind() == Entry::Fiber && queue.Size() == 1;
            leaves = leaves || (isPatient && isAlone);
            return !isPatient || !isAlone;
        };
        if (!queue.TakeOldestIf(work.entry, wants)) continue;
        NoteLoot(worker, now, level);
        if (leaves) thief.isPatient = false;
        worker.figures.Count(&Figures::steals);
        if (IsTraced(scheduler)) NoteVictim(worker, level, work.entry, victim);
        TakeMore(worker, victim, level);
        thief.left = static_cast<uint32_t>(std::min<uint64_t>(queue.Size(), ~0u));
        return work;
    }
    if (leaves) thief.isPatient = false;
    return {};
}

// While this worker holds the list, another may find it empty and sleep. So wakes one for the rest.
Work TakeBehind(Worker &worker, Level level) noexcept {
    PushList<Node> &behind = worker.scheduler->behind[level.Index()];
    Node *const oldest = behind.TakeAll();
    if (oldest == nullptr) return {};
    for (Node *rest = oldest->next; rest != nullptr;) behind.Push(std::exchange(rest, rest->next));
    if (oldest->next != nullptr) Published(*worker.scheduler, &worker, level, 1);
    return {Entry::Of(*oldest), level, false};
}

Work TakeOldest(Worker &worker, Level level, bool othersFirst) noexcept {
    // A pinned task that yields again and again leaves each second turn of the level to the others.
    const bool pinnedLast = (worker.fair.tookPinned & level.Bit()) != 0;
    // A level that is late is served by such picks only. Then what lies behind must come first, or
    // it would starve. Otherwise it must not keep the worker from the deques of others.
    const bool isLate = worker.fair.serves == level.Index();
    const bool may = worker.filter.May(level), steals = may && othersFirst;
    Work work = pinnedLast ? Work() : TakePinned(worker, level.Bit());
    if (!work && steals && !isLate) work = Steal(worker, level, true);
    if (!work && may) work = TakeBehind(worker, level);
    if (!work && steals && isLate) work = Steal(worker, level, true);
    Entry own;
    if (!work && may && worker.queue[level.Index()].TakeOldest(own)) work = {own, level, false};
    if (!work && pinnedLast) work = TakePinned(worker, level.Bit());
    worker.fair.tookPinned &= ~level.Bit();
    if (work.isPinned) worker.fair.tookPinned |= level.Bit();
    return work;
}

bool AnyOf(const Worker &worker, Level level) noexcept {
    if (level.Slot() == 0 && !worker.pinned[static_cast<uint32_t>(level.ThePriority())].IsEmpty())
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

// The system may stop a publisher before it sets the notice. Without one, the worker would find
// nothing, again and again.
bool AnyWork(const Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    uint32_t found = 0;
    for (uint32_t levels = worker.filter.may; levels != 0 && found == 0; levels &= levels - 1) {
        if (AnyOf(worker, Level::At(LowestBit(levels)))) found = levels & (0u - levels);
    }
    if (found == 0 && scheduler.timers.Next() <= DueNow(scheduler)) found = Notices::kTimed;
    scheduler.notices.Show(found & ~kUnnoticed);
    return found != 0 || !scheduler.injector.IsEmpty() || worker.filter.pinned != 0 ||
           !worker.inbox.IsEmpty();
}

void NoteFilter(Worker &worker) noexcept {
    Filter &filter = worker.filter;
    // acquire: pairs with SignalAll. What RunsOf reads is as new as this number, or newer.
    filter.changes = worker.scheduler->changes.load(kAcquire);
    uint32_t limit = 0;
    while (limit != kPriorities && filter.limits[limit] == 0) ++limit;
    filter.limit = limit;
    const uint32_t runs = filter.runs = RunsOf(*worker.scheduler, worker);
    uint32_t lost = filter.may;
    filter.may = runs & LevelsOf((1u << kSlots) - 1, limit);
    filter.heeds = Notices::kTimed | Notices::kForValue | (runs & kHighLevels);
    const Level ofNone(Priority::Normal), ofGroup(Priority::Normal, worker.group + 1);
    filter.home = (runs & ofNone.Bit()) != 0 ? ofNone : ofGroup;
    filter.isChoosy = (filter.may & kPlainLevels) != kPlainLevels;
    filter.pinned = 0;
    for (uint32_t i = 0; i < kPriorities; ++i) {
        Node *node = worker.pinned[i].first;
        while (node != nullptr && !MayTake(worker, *node)) node = node->next;
        if (node != nullptr) filter.pinned |= Level(static_cast<Priority>(i)).Bit();
    }
    filter.isSpecial = limit != kPriorities || filter.pinned != 0 ||
                       (runs & filter.home.Bit()) == 0 || worker.comesNext != nullptr ||
                       IsOrdered(*worker.scheduler);
    for (lost &= ~filter.may; lost != 0; lost &= lost - 1)
        Published(*worker.scheduler, &worker, Level::At(LowestBit(lost)), 2);
}

}  // namespace weft::internal
