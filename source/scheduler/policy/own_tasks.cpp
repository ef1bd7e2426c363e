// Implements own_tasks.h.
#include "scheduler/policy/own_tasks.h"

#include "scheduler/policy/places.h"
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

    // Returns true if it needs the entry.
    bool Of(const Entry &entry) noexcept { return Of(entry.CounterOfIt(), entry.Scope()); }

private:
    bool Of(Counter *counter, uint32_t scope) noexcept {
        return IsWanted(m_worker, counter, scope) || (counter != nullptr && OfWaiters(*counter));
    }

    bool OfWaiters(Counter &counter) noexcept {
        if (m_steps == kMostSteps) return false;
        ++m_steps;
        bool any = false;
        const auto look = [&](uint32_t owner, uint32_t) {
            any = any || OfOwner(owner);
            return false;
        };
        m_scheduler.counters.RemoveIf(CounterAccess::Word(counter), m_worker.index, look, true);
        --m_steps;
        return any;
    }

    // `owner`: of a wait record
    bool OfOwner(uint32_t owner) noexcept {
        const uint32_t index = owner & ~kOwnerKind;
        switch (owner & kOwnerKind) {
            case 0:
                return OfFiber(m_scheduler.fibers[index]);
            case kDeferredOwner:
                return OfDeferred(m_scheduler.pools.deferred.At(index));
            case kAnyOwner:
                return OfWaiters(m_scheduler.pools.anyRecords.At(index).wait->first);
            default:
                return false;
        }
    }

    bool OfFiber(const Fiber &fiber) noexcept {
        for (const InlineFrame *frame = fiber.inlined; frame != nullptr; frame = frame->outer) {
            if (Of(frame->counter, fiber.scope)) return true;
        }
        return Of(fiber.counter.load(kRelaxed), fiber.scope);
    }

    // Its record is on a locked counter. So it is not handed over, unless it is withdrawn, or waits
    // for a deadline as well. While it is held, it is not withdrawn, and its counter exists.
    bool OfDeferred(Deferred &deferred) noexcept {
        uint64_t state = deferred.state.load(kRelaxed);  // relaxed: the CAS decides
        do {
            if ((state & (Deferred::kWithdrawn | Deferred::kHeld)) != 0 ||
                deferred.firesAt.load(kRelaxed) != 0)
                return false;
            // acquire: after an earlier holder
        } while (!deferred.state.compare_exchange_strong(state, state | Deferred::kHeld, kAcquire,
                                                         kRelaxed));
        const TasksOf of = deferred.tasks.newest->of;
        const bool needs = Of(of.TheCounter(), of.Scope());
        // release: what was read is read before the tasks can be handed over
        deferred.state.fetch_and(~Deferred::kHeld, kRelease);
        return needs;
    }

    Worker &m_worker;
    Scheduler &m_scheduler;
    uint32_t m_steps = 0;
};

using Queue = WorkStealingDeque<Entry>;

// Takes the entry at one of the ends of the deque.
bool TakeAtEnd(Worker &worker, Queue &queue, Level level, Entry &entry) noexcept {
    if (queue.LooksEmpty()) return false;
    const auto wants = [&](const Entry &next) {
        return IsWanted(worker, next.CounterOfIt(), next.Scope());
    };
    return (&queue == &worker.queue[level.Index()] && queue.PopIf(entry, wants)) ||
           queue.TakeOldestIf(entry, wants);
}

bool Dig(Worker &worker, Queue &queue, Level level, Entry &entry) noexcept {
    uint64_t left = std::min(queue.Size(), kMostDug);
    for (; left != 0 && queue.TakeOldest(entry); --left) {
        if (Need(worker).Of(entry)) return true;
        PushEntry(worker, level, entry);
    }
    return false;
}

// What was taken gets the scope of the wait.
template <class Take>
Work FromAllDeques(Worker &worker, Take take) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t levels = worker.filter.runs; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        for (uint32_t i = 0; i < slots; ++i) {
            // its own deque first
            Queue &queue = scheduler.workers[(worker.index + i) % slots].queue[level.Index()];
            worker.thief.moves += queue.Moves();
            Entry entry;
            if (take(worker, queue, level, entry))
                return {entry.WithScope(worker.ownWaits->scope), level, false};
        }
    }
    return {};
}

}  // namespace

Work PickOwn(Worker &worker) noexcept {
    if (const Work work = TakePinned(worker, kAllLevels)) return work;
    if (const Work work = FromAllDeques(worker, TakeAtEnd)) return work;
    const uint64_t now = env::Ticks();
    if (now - worker.ownWaits->dugAt < worker.scheduler->tuning.millisecond &&
        worker.scheduler->order == nullptr)
        return {};
    worker.ownWaits->dugAt = now;
    const auto needs = [&](Node &node) { return Need(worker).Of(Entry::Of(node)); };
    for (uint32_t i = 0; i < kPriorities; ++i) {
        if (const Work work = TakePinnedIf(worker, static_cast<Priority>(i), needs)) return work;
    }
    for (uint32_t levels = worker.filter.runs; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        while (const Work work = TakeBehind(worker, level)) PushEntry(worker, level, work.entry);
    }
    return FromAllDeques(worker, Dig);
}

}  // namespace weft::internal
