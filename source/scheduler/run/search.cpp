// Implements search.h.
#include "scheduler/run/search.h"

#include "platform/compiler.h"
#include "scheduler/find/find_work.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/steal.h"
#include "scheduler/find/steal_backoff.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Asks workers that have claimed tasks and not started them (Worker::hides) to put these back after
// their current task. `all`: asks every worker, because one may be claiming just now and not have
// set `hides` yet.
void AskOthers(Worker *worker, bool all) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        Worker &other = scheduler.workers[i];
        if (i == worker->index || (!all && !other.hides.load(kRelaxed))) continue;
        // seq_cst: after this worker's search, see AnswerAsk
        if (!other.asked.load(kSeqCst)) other.asked.store(true, kSeqCst);
    }
}

// Returns true if the system woke this worker on the CPU of the thread that woke it. A search there
// would keep that thread from its work. A hint.
bool IsOnWakersCpu(const Worker *worker) noexcept {
    const int32_t cpu = worker->parker.WakersCpu();
    return cpu >= 0 && cpu == env::CurrentCpu();
}

// Searches until there is work, or until it is time to sleep. In between it asks other workers for
// claimed tasks, less and less often, and once more before it sleeps. So no worker sleeps while
// another one keeps unstarted tasks for longer than one task.
Found Search(Worker *worker, WorkerMode mode) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t begin = env::Ticks();
    const IdlePolicy policy = scheduler.options.idle;
    const bool isQuiet =
        policy == IdlePolicy::Sleep || (policy == IdlePolicy::Balanced && IsOnWakersCpu(worker));
    uint64_t askAfter = scheduler.tuning.claimBudget;
    for (uint64_t now = begin;; now = env::Ticks()) {
        Found found = FindOwn(worker, mode);
        if (!found && (MaySteal(worker, now) || isQuiet)) {
            found = Steal(worker, mode);
        }
        if (found || scheduler.stopping.load(kRelaxed)) return found;
        if (mode != WorkerMode::Tasks && scheduler.pool.AnyFree(StackClass::Small)) return {};
        const bool isLast = isQuiet || now - begin > scheduler.tuning.idleSearch;
        if (mode == WorkerMode::Tasks && (isLast || now - begin > askAfter)) {
            AskOthers(worker, isLast);
            askAfter *= 2;
        }
        if (isLast) return {};
        env::Pause();
    }
}

}  // namespace

namespace {

// Call when a searcher has found something. Wakes the searcher's share of the sleepers
// (Worker::toWake). If more entries than that lie in its own lanes and those of its victim, wakes a
// sleeper for each of these instead.
void WakeForMore(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t share = std::exchange(worker->toWake, 0);
    if (!scheduler.idle.AnySleeper()) return;
    const uint32_t lanes = scheduler.Lanes();
    uint64_t entries = 0;
    for (const uint32_t index : {worker->index, worker->victim}) {
        for (uint32_t lane = 0; lane < lanes; ++lane)
            entries += scheduler.workers[index].lanes[lane].Size();
    }
    if (entries != 0 || share != 0)
        WakeForAllLevels(scheduler, worker, static_cast<uint32_t>(std::min<uint64_t>(entries, ~0u)),
                         share);
}

}  // namespace

void StopSearching(Worker *worker) noexcept {
    if (!worker->searching) return;
    worker->searching = false;
    if (worker->scheduler->idle.StopSearching()) WakeForAny(*worker->scheduler, worker);
}

Found SearchForTasks(Worker *worker) noexcept {
    worker->slab.FlushOthers();
    if (!worker->searching) {
        // Publishers rely only on workers that are counted as searchers. A worker that finds
        // something at once need not be counted.
        if (MaySteal(worker, env::Ticks())) {
            if (const Found found = Steal(worker, WorkerMode::Tasks)) {
                worker->lookInterval = 1;
                return found;
            }
        }
        worker->scheduler->idle.StartSearching();
    }
    worker->searching = true;
    Found found = Search(worker, WorkerMode::Tasks);
    if (!found && worker->scheduler->notices.Has(Notices::kLargeWork) &&
        !worker->scheduler->pool.AnyFree(StackClass::Large)) {
        found.fiber = Rescue(worker, StackClass::Large);
    }
    if (found) {
        StopSearching(worker);
        worker->lookInterval = 1;
        WakeForMore(worker);
    }
    return found;
}

Found SearchForFibers(Worker *worker) noexcept {
    NoteVisit(worker);
    const Found found = Search(worker, WorkerMode::ReadyFibersOnly);
    if (found || worker->scheduler->pool.AnyFree(StackClass::Small) || IsRestricted(worker))
        return found;
    Fiber *waiter = Rescue(worker, StackClass::Small);
    if (waiter == nullptr) waiter = Rescue(worker, StackClass::Large);
    return {waiter, false};
}

}  // namespace weft::internal
