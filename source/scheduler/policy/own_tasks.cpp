// Implements own_tasks.h.
#include "scheduler/policy/own_tasks.h"

#include "scheduler/policy/places.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint64_t kMostDug = 4096;  // entries of one deque
constexpr uint32_t kMostSteps = 8;   // from a counter to one that counts its waiter

// Finds out whether a wait on this worker needs an entry that the worker has taken: goes from the
// counter of the entry to the tasks that wait for this counter, to the counters of these tasks, and
// so on. The entry has not finished, so its counter exists. The other objects exist because the
// counters before them are locked. A locked counter is left out, so the locks cannot form a circle.
class Need {
public:
    explicit Need(Worker &worker) noexcept : m_worker(worker), m_scheduler(*worker.scheduler) {}

    // Returns the scope of the wait, or 0.
    uint32_t Of(const Entry &entry) noexcept { return Of(entry.CounterOfIt(), entry.Scope()); }

private:
    uint32_t Of(Counter *counter, uint32_t scope) noexcept {
        const uint32_t found = ScopeThatWants(m_worker, counter, scope);
        return found != 0 || counter == nullptr ? found : OfWaiters(*counter);
    }

    uint32_t OfWaiters(Counter &counter) noexcept {
        if (m_steps == kMostSteps) return 0;
        ++m_steps;
        uint32_t found = 0;
        const auto look = [&](uint32_t owner, uint32_t) {
            if (found == 0) found = OfOwner(owner);
            return false;
        };
        m_scheduler.counters.RemoveIf(CounterAccess::Word(counter), m_worker.index, look, true);
        --m_steps;
        return found;
    }

    // `owner`: of a wait record
    uint32_t OfOwner(uint32_t owner) noexcept {
        const uint32_t index = owner & ~kOwnerKind;
        switch (owner & kOwnerKind) {
            case 0:
                return OfFiber(m_scheduler.fibers[index]);
            case kDeferredOwner:
                return OfDeferred(m_scheduler.deferred.At(index));
            case kAnyOwner:
                return OfWaiters(m_scheduler.anyRecords.At(index).wait->first);
            default:
                return 0;
        }
    }

    uint32_t OfFiber(const Fiber &fiber) noexcept {
        for (const InlineFrame *frame = fiber.inlined; frame != nullptr; frame = frame->outer) {
            if (const uint32_t found = Of(frame->counter, fiber.scope)) return found;
        }
        return Of(fiber.counter.load(kRelaxed), fiber.scope);
    }

    // Its record is on a locked counter. So it is not handed over, unless it is withdrawn, or waits
    // for a deadline as well. While it is held, it is not withdrawn, and its counter exists.
    uint32_t OfDeferred(Deferred &deferred) noexcept {
        uint64_t state = deferred.state.load(kRelaxed);  // relaxed: the CAS decides
        do {
            if ((state & (Deferred::kWithdrawn | Deferred::kHeld)) != 0 ||
                deferred.firesAt.load(kRelaxed) != 0)
                return 0;
            // acquire: after an earlier holder
        } while (!deferred.state.compare_exchange_strong(state, state | Deferred::kHeld, kAcquire,
                                                         kRelaxed));
        const TasksOf of = deferred.tasks.newest->of;
        const uint32_t found = Of(of.counter, of.scope);
        // release: what was read is read before the tasks can be handed over
        deferred.state.fetch_and(~Deferred::kHeld, kRelease);
        return found;
    }

    Worker &m_worker;
    Scheduler &m_scheduler;
    uint32_t m_steps = 0;
};

Work WorkOf(const Entry &entry, Level level, uint32_t scope) noexcept {
    return {entry.WithScope(scope), level, false};
}

// Takes the entry at one of the ends of the deque.
Work TakeAtEnd(Worker &worker, Worker &victim, Level level) noexcept {
    WorkStealingDeque<Entry> &queue = victim.queue[level.Index()];
    if (!queue.IsAcquired() || queue.LooksEmpty()) return {};
    const auto wants = [&](const Entry &entry) { return ScopeThatWants(worker, entry) != 0; };
    Entry entry;
    const auto found = [&] { return WorkOf(entry, level, ScopeThatWants(worker, entry)); };
    if (&victim == &worker && queue.PopIf(entry, wants)) return found();
    StealResult result;
    do {
        result = queue.StealIf(entry, wants);
    } while (result == StealResult::Lost);
    return result == StealResult::Taken ? found() : Work{};
}

Work Dig(Worker &worker, Worker &victim, Level level) noexcept {
    WorkStealingDeque<Entry> &queue = victim.queue[level.Index()];
    if (!queue.IsAcquired()) return {};
    Entry entry;
    for (uint64_t left = std::min(queue.Size(), kMostDug); left != 0; --left) {
        StealResult result;
        do {
            result = queue.Steal(entry);
        } while (result == StealResult::Lost);
        if (result != StealResult::Taken) break;
        if (const uint32_t scope = Need(worker).Of(entry)) return WorkOf(entry, level, scope);
        PushEntry(worker, level, entry);
    }
    return {};
}

Work DigPinned(Worker &worker) noexcept {
    const auto wants = [&](Node &node) { return Need(worker).Of(Entry::Of(node)) != 0; };
    for (NodeQueue &pinned : worker.pinned) {
        Node *const node = pinned.TakeIf(wants);
        if (node == nullptr) continue;
        NoteFilter(worker);
        return {Entry::Of(*node), node->level, true};
    }
    return {};
}

template <class Look>
Work InAllDeques(Worker &worker, Look look) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t runs = worker.filter.runs & LevelsOf(SlotsInUse(scheduler));
    const uint32_t slots = scheduler.Slots();
    for (uint32_t levels = runs; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        for (uint32_t i = 0; i < slots; ++i) {
            // its own deque first
            Worker &victim = scheduler.workers[(worker.index + i) % slots];
            if (const Work work = look(worker, victim, level)) return work;
        }
    }
    return {};
}

}  // namespace

Work PickOwn(Worker &worker) noexcept {
    for (uint32_t levels = worker.filter.pinned; levels != 0; levels &= levels - 1) {
        if (const Work work = TakePinned(worker, Level::At(LowestBit(levels)))) return work;
    }
    if (const Work work = InAllDeques(worker, TakeAtEnd)) return work;
    const uint64_t now = env::Ticks();
    if (now - worker.ownWaits->dugAt < worker.scheduler->tuning.millisecond &&
        worker.scheduler->order == nullptr)
        return {};
    worker.ownWaits->dugAt = now;
    if (const Work work = DigPinned(worker)) return work;
    for (uint32_t levels = worker.filter.runs; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        while (const Work work = TakeBehind(worker, level)) PushEntry(worker, level, work.entry);
    }
    return InAllDeques(worker, Dig);
}

InOwnScope::InOwnScope(Fiber &self, const Counter &counter) noexcept
    : m_self(self), m_outer(self.scope) {
    Worker &worker = *self.worker;
    // relaxed: it is only a number
    const uint32_t number = worker.scheduler->scopes.fetch_add(1, kRelaxed);
    m_wait = {&counter,        number % Entry::kMostScopes + 1,
              &self,           worker.comesNext,
              worker.ownWaits, env::Ticks() - worker.scheduler->tuning.millisecond};
    worker.ownWaits = &m_wait;
    self.scope = m_wait.scope;
}

// Waits on one worker need not end in order. The fiber is on the same worker as before.
InOwnScope::~InOwnScope() {
    OwnWait **link = &m_self.worker->ownWaits;
    while (*link != &m_wait) link = &(*link)->next;
    *link = m_wait.next;
    m_self.scope = m_outer;
}

}  // namespace weft::internal
