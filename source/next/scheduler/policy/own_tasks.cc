// Implements own_tasks.h.
#include "scheduler/policy/own_tasks.h"

#include "scheduler/policy/places.h"
#include "scheduler/state/groups.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint64_t kMostDug = 4096;  // entries of one deque

Work WorkOf(const Worker &worker, const Entry &entry, Level level) noexcept {
    return {entry.WithScope(ScopeThatWants(worker, entry)), level, false};
}

// Takes the entry at one of the ends of the deque.
Work TakeAtEnd(Worker &worker, Worker &victim, Level level) noexcept {
    WorkStealingDeque<Entry> &queue = victim.queue[level.index];
    if (!queue.IsAcquired() || queue.LooksEmpty()) return {};
    const auto wants = [&](const Entry &entry) { return ScopeThatWants(worker, entry) != 0; };
    Entry entry;
    if (&victim == &worker && queue.PopIf(entry, wants)) return WorkOf(worker, entry, level);
    StealResult result;
    do {
        result = queue.StealIf(entry, wants);
    } while (result == StealResult::Lost);
    return result == StealResult::Taken ? WorkOf(worker, entry, level) : Work{};
}

Work Dig(Worker &worker, Worker &victim, Level level) noexcept {
    WorkStealingDeque<Entry> &queue = victim.queue[level.index];
    if (!queue.IsAcquired()) return {};
    Entry entry;
    for (uint64_t left = std::min(queue.Size(), kMostDug); left != 0; --left) {
        StealResult result;
        do {
            result = queue.Steal(entry);
        } while (result == StealResult::Lost);
        if (result != StealResult::Taken) break;
        if (ScopeThatWants(worker, entry) != 0) return WorkOf(worker, entry, level);
        PushEntry(worker, level, entry);
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
    if (now < worker.digsAt) return {};
    worker.digsAt = now + worker.scheduler->tuning.millisecond;
    return InAllDeques(worker, Dig);
}

InOwnScope::InOwnScope(Fiber &self, const Counter &counter) noexcept
    : m_self(self), m_outer(self.scope) {
    Worker &worker = *self.worker;
    // relaxed: it is only a number
    const uint32_t number = worker.scheduler->scopes.fetch_add(1, kRelaxed);
    m_wait = {&counter, number % Entry::kMostScopes + 1, m_outer, worker.ownWaits};
    worker.ownWaits = &m_wait;
    self.scope = m_wait.scope;
    worker.digsAt = env::Ticks();
}

// Waits on one worker need not end in order. The fiber is on the same worker as before.
InOwnScope::~InOwnScope() {
    OwnWait **link = &m_self.worker->ownWaits;
    while (*link != &m_wait) link = &(*link)->next;
    *link = m_wait.next;
    m_self.scope = m_outer;
}

}  // namespace weft::internal
