#include "scheduler/claim.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/large_backlog.h"
#include "scheduler/low_limit.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/run_task.h"
#include "scheduler/scheduler.h"
#include "scheduler/shared_cpu.h"

#include <algorithm>

namespace weft::internal {

namespace {

// How many of `count` tasks of the batch may be claimed at once.
uint32_t Allowed(const Worker &worker, uint64_t batch, uint32_t count) noexcept {
    if (race::kFinder) return 1;
    const TaskTime &time = worker.taskTime;
    if (time.batch != batch || worker.scheduler->workerCount == 0) return 1;
    const uint64_t fit = worker.scheduler->times.claimBudget * time.tasks / std::max<uint64_t>(time.ticks, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, count));
}

void PushBack(Worker *worker, WorkStealingDeque<TaskEntry> &deque, const TaskEntry &entry) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(!deque.Push(entry))) {
        ReportFatal(scheduler.options, ReportCode::OutOfMemory, "Give the process more memory, or submit less at once.",
                    "a worker's deque could not grow");
    }
}

// The tasks of a slice that were started have been read: their places in the slab are free.
void GiveBackStarted(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    if (claim.batch != 0 && claim.next != claim.first) {
        worker->slab.GiveBack(claim.first, static_cast<uint32_t>(claim.next - claim.first));
    }
    claim.first = claim.next;
}

// What is left of the claim, as an entry.
TaskEntry TakeRest(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    const TaskEntry rest = claim.batch != 0 ? TaskEntry::Slice(claim.next, claim.Left(), claim.batch, claim.counter,
                                                               claim.name, claim.stack)
                                            : TaskEntry::Single(claim.single, claim.counter, claim.name, claim.stack);
    claim.Clear();
    return rest;
}

// Times the tasks of one claim.
class Stopwatch {
public:
    explicit Stopwatch(Worker *worker) noexcept
        : m_worker(worker),
          m_batch(worker->claim.batch),
          m_running((m_batch != 0 || worker->claim.stolen) && worker->scheduler->workerCount != 0) {
        if (m_running) m_begin = Begin();
    }

    /// After each task. True when it is time to leave the rest to others.
    bool Spent(uint32_t tasks) noexcept {
        if (tasks != m_nextLook || !m_running) return false;
        m_nextLook *= 4;
        return Look(tasks) >= m_worker->scheduler->times.claimBudget;
    }

    /// After the last task, unless the fiber was somewhere else in between: then the time says nothing.
    void Stop(uint32_t tasks, bool stolen) noexcept {
        if (!m_running) return;
        const uint64_t elapsed = Look(tasks);
        if (stolen) NoteProfit(elapsed);
    }

private:
    // Where the slice before this one ended, if that was just now: nothing else has finished here since. (Whatever came
    // in between without finishing counts as this slice's, which only makes the next claim smaller.)
    uint64_t Begin() const noexcept {
        const TaskTime &time = m_worker->taskTime;
        const bool isNext = !m_worker->claim.stolen && m_batch == time.batch && m_batch != 0 &&
                            m_worker->finished.load(kRelaxed) + m_worker->pending.count == time.finishedThen;
        return isNext ? time.lookedAt : env::Ticks();
    }

    uint64_t Look(uint32_t tasks) noexcept {
        const uint64_t now = env::Ticks();
        const uint64_t elapsed = now - m_begin;
        if (m_batch != 0) {
            const uint64_t finished = m_worker->finished.load(kRelaxed) + m_worker->pending.count;  // the owner's own
            m_worker->taskTime = {m_batch, elapsed, tasks, now, finished};
        }
        return elapsed;
    }

    // A steal that brought little work cost the victim more than it was worth: keep away for twice as long as before.
    void NoteProfit(uint64_t elapsed) noexcept {
        const Times &times = m_worker->scheduler->times;
        NoteDuration(m_worker, elapsed, times.maxSharing);
        if (elapsed >= times.profitableSteal) {
            m_worker->stealPenalty = 0;
        } else {
            m_worker->stealPenalty = std::clamp(m_worker->stealPenalty * 2, times.firstPenalty, times.maxStealPenalty);
        }
        m_worker->stealAgainAt = m_begin + elapsed + m_worker->stealPenalty;
    }

    Worker *m_worker;
    uint64_t m_batch;
    uint64_t m_begin = 0;
    uint32_t m_nextLook = 4;
    bool m_running;
};

}  // namespace

void ClaimEntry(Worker *worker, const TaskEntry &entry, uint32_t lane, bool stolen) noexcept {
    Claim &claim = worker->claim;
    claim.counter = entry.TheCounter();
    claim.name = entry.Name();
    claim.stack = entry.Stack();
    claim.lane = lane;
    claim.stolen = stolen;
    claim.pinned = claim.low = false;
    if (!entry.IsSlice()) {
        claim.single = entry.TheTask();
        claim.first = claim.next = &claim.single;
        claim.end = claim.next + 1;
        claim.batch = 0;
        return;
    }
    claim.first = claim.next = entry.First();
    claim.batch = entry.Batch();
    claim.end = claim.next + Allowed(*worker, claim.batch, entry.Count());
    const uint32_t rest = entry.Count() - claim.Left();
    if (rest != 0) {
        PushBack(worker, worker->lanes[lane],
                 TaskEntry::Slice(claim.end, rest, claim.batch, claim.counter, claim.name, claim.stack));
        // A worker that looked between our pop and our push may sleep now.
        WakeForTasks(*worker->scheduler, worker, 1);  // [re-check]
    }
}

void ClaimPinned(Worker *worker, const Task &task, Counter *counter, const TaskOptions &options) noexcept {
    ClaimEntry(worker, TaskEntry::Single(task, counter, options.name, options.stack),
               static_cast<uint32_t>(options.priority), false);
    worker->claim.pinned = true;
}

void UnclaimNow(Worker *worker) noexcept {
    GiveBackStarted(worker);
    if (!worker->claim.HasMore()) return worker->claim.Clear();
    const uint32_t lane = worker->claim.lane;
    PushBack(worker, worker->lanes[lane], TakeRest(worker));  // [order]
    WakeForTasks(*worker->scheduler, worker, 1);              // [re-check]
}

void MoveClaimToBacklog(Worker *worker) noexcept {
    GiveBackStarted(worker);
    const BacklogEntry item{TakeRest(worker), worker->claim.lane};
    if (worker->claim.low) GiveLowPermit(*worker->scheduler, worker);
    worker->claim.low = false;
    PutIntoBacklog(worker, item);
}

namespace {

// What only claims of pinned tasks, and of Low tasks with a permit, need before and after.
struct SpecialClaim {
    bool pinned;
    bool low;
    uint32_t outerPin;
};

WEFT_NOINLINE SpecialClaim BeginSpecial(Fiber *self) noexcept {
    const Claim &claim = self->worker->claim;
    const SpecialClaim special{claim.pinned, claim.low, self->pinnedTo};
    if (special.low) self->holdsLow = true;
    if (special.pinned) {
        self->pinnedTo = self->worker->index;
        race::ComesToThread(self->worker);
    }
    return special;
}

WEFT_NOINLINE void EndSpecial(Fiber *self, const SpecialClaim &special) noexcept {
    Worker *worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    if (special.pinned) {
        race::LeavesThread(worker);
        self->pinnedTo = special.outerPin;
        if (scheduler.IsAttachedSlot(worker->index)) Unbind(scheduler, worker, *worker);
    }
    if (special.low) {
        self->holdsLow = false;
        GiveLowPermit(scheduler, worker);
    }
}

// One task that is not of a slice.
template <bool kTraced>
inline void RunSingle(Fiber *self) noexcept {
    Worker *worker = self->worker;
    Counter *const counter = worker->claim.counter;
    const bool stolen = worker->claim.stolen && worker->scheduler->workerCount != 0;
    const Task task = worker->claim.single;
    worker->claim.Clear();
    if (WEFT_LIKELY(!stolen)) {
        CallTask<kTraced>(self, worker->facade, task);
    } else {
        Stopwatch stopwatch(worker);
        CallTask<kTraced>(self, worker->facade, task);
        if (self->worker == worker) stopwatch.Stop(1, true);
    }
    NoteFinished(self->worker, counter, 1);
}

template <bool kTraced>
inline void RunSlice(Fiber *self) noexcept {
    Worker *const worker = self->worker;
    Counter *const counter = worker->claim.counter;
    const bool stolen = worker->claim.stolen;
    TaskScheduler *const facade = worker->facade;
    Stopwatch stopwatch(worker);
    const Task *const first = worker->claim.first;
    const Task *const end = worker->claim.end;
    uint32_t tasks = 1;
    for (const Task *next = worker->claim.next;; ++tasks) {
        const Task task = *next;
        worker->claim.next = ++next;
        CallTask<kTraced>(self, facade, task);
        if (WEFT_UNLIKELY(self->worker != worker || worker->claim.first != first)) {
            // The task waited, and the rest of the claim went back to the deque then.
            NoteFinished(self->worker, counter, 1);
            return;
        }
        NoteFinished(worker, counter, 1);
        if (next == end) break;
        if (stopwatch.Spent(tasks)) {
            UnclaimRest(worker);
            return;
        }
    }
    stopwatch.Stop(tasks, stolen);
    UnclaimRest(worker);  // gives its places back
}

WEFT_NOINLINE void RunTraced(Fiber *self, bool slice) noexcept { slice ? RunSlice<true>(self) : RunSingle<true>(self); }

}  // namespace

void RunClaim(Fiber *self, AndThen andThen) noexcept {
    Worker *worker = self->worker;
    const Claim &claim = worker->claim;
    if (worker->pending.counter != claim.counter) FlushPending(worker);
    const TaskName name(self, claim.name);
    const bool traced = worker->scheduler->trace != nullptr;
    const bool isSpecial = claim.pinned || claim.low;
    SpecialClaim special{};
    if (WEFT_UNLIKELY(isSpecial)) special = BeginSpecial(self);
    if (WEFT_UNLIKELY(traced)) {
        RunTraced(self, claim.batch != 0);
    } else if (claim.batch == 0) {
        RunSingle<false>(self);
    } else {
        RunSlice<false>(self);
    }
    if (WEFT_UNLIKELY(isSpecial)) EndSpecial(self, special);
    worker = self->worker;
    worker->looksNext = andThen == AndThen::LookForWork;
    FlushPending(worker);
    worker->looksNext = false;
}

void LowerPending(Worker *worker) noexcept {
    const PendingDecrement pending = worker->pending;
    worker->pending = {};
    if (pending.counter != nullptr) LowerCounter(*worker->scheduler, worker, *pending.counter, pending.count);
    CountFinished(worker, pending.count);
}

}  // namespace weft::internal
