// Steals from other workers.
#include "scheduler/policy/places.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint64_t kMostMore = 24;  // the most entries that are taken in addition to the first

// Moves an eighth of the remaining entries to the own deque.
void TakeMore(Worker &worker, uint32_t victim, Level level) noexcept {
    WorkStealingDeque<Entry> &queue = worker.scheduler->workers[victim].queue[level.Index()];
    const uint64_t most = std::min(queue.Size() / 8, kMostMore);
    Entry more[kMostMore];
    uint64_t got = 0;
    while (got < most && queue.Steal(more[got]) == StealResult::Taken) ++got;
    if (got == 0) return;
    for (uint64_t i = 0; i < got && IsTraced(*worker.scheduler); ++i) NoteVictim(more[i], victim);
    WorkStealingDeque<Entry> &own = worker.queue[level.Index()];
    const uint32_t count = static_cast<uint32_t>(got);
    if (!own.Reserve(got)) NoRoom(worker, count);
    for (uint64_t i = 0; i < got; ++i) own.Stage(got - 1 - i, more[i]);
    own.Publish(got);
    worker.holds |= level.Bit();
    Published(*worker.scheduler, &worker, level, count);
}

uint32_t FirstVictim(Worker &worker, uint32_t slots) noexcept {
    Thief &thief = worker.thief;
    if (const uint32_t hint = WakeHints::Take(worker.woken.by); hint != 0) return hint - 1;
    thief.random = thief.random * 1664525 + 1013904223;  // Knuth, "The Art of Computer Programming"
    return (thief.random >> 16) % slots;
}

}  // namespace

// After each successful steal, one search leaves fibers that are alone in their deques: their
// workers probably continue them next (HandOver).
Work Steal(Worker &worker, Level level, bool isFair) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const uint32_t slots = scheduler.Slots();
    if (slots <= 1) return {};
    Thief &thief = worker.thief;
    const uint64_t now = env::Ticks();
    if (thief.Rests(now, level)) return {};
    const bool isPatient = thief.isPatient;
    bool leaves = false;
    Work work{{}, level, false};
    uint32_t victim = isFair ? ++thief.round % slots : FirstVictim(worker, slots);
    for (uint32_t i = 0; i < slots; ++i, victim = victim + 1 == slots ? 0 : victim + 1) {
        WorkStealingDeque<Entry> &queue = scheduler.workers[victim].queue[level.Index()];
        if (victim == worker.index || !queue.IsAcquired() || queue.LooksEmpty()) continue;
        const auto wants = [&](const Entry &entry) {
            const bool isAlone = entry.TheKind() == Entry::Fiber && queue.Size() == 1;
            leaves = leaves || (isPatient && isAlone);
            return !isPatient || !isAlone;
        };
        StealResult result;
        do {
            result = queue.StealIf(work.entry, wants);
        } while (result == StealResult::Lost);
        if (result != StealResult::Taken) continue;
        thief.NoteLoot(now, level, scheduler.tuning.millisecond);
        if (leaves) thief.isPatient = false;
        worker.figures.Count(&Figures::steals);
        if (IsTraced(scheduler)) NoteVictim(work.entry, victim);
        TakeMore(worker, victim, level);
        thief.left = static_cast<uint32_t>(std::min<uint64_t>(queue.Size(), ~0u));
        return work;
    }
    if (leaves) thief.isPatient = false;
    return {};
}

}  // namespace weft::internal
