// Runs claims, and measures how long their tasks take. claim.h has the rule for putting tasks back.
#include "scheduler/find/run_task.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/steal_backoff.h"
#include "scheduler/state/urgency.h"
#include "scheduler/submit/post.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Measures how long the tasks of one claim take.
class Stopwatch {
public:
    explicit Stopwatch(Worker *worker) noexcept
        : m_worker(worker),
          m_batch(worker->claim.batch),
          m_running((m_batch != 0 || worker->claim.stolen) && worker->scheduler->workerCount != 0) {
        if (m_running) m_begin = Begin();
    }

    /// Returns the task before which the worker must next call Spent, or `end` for none. The
    /// slice's tasks from `begin` on run before that.
    const Task *NextLook(const Task *begin, const Task *end) const noexcept {
        return m_running && end - begin > m_nextLook ? begin + m_nextLook : end;
    }
    /// `tasks` tasks have finished. Returns true if they have used up the budget: then the worker
    /// gives the remaining ones back.
    bool Spent(uint32_t tasks) noexcept {
        m_nextLook *= 4;
        return Look(tasks) >= m_worker->scheduler->tuning.claimBudget;
    }

    /// Call after the last task. Do not call it if the fiber has been suspended in between, because
    /// then the time says nothing.
    void Stop(uint32_t tasks, bool stolen) noexcept {
        if (!m_running) return;
        const uint64_t elapsed = Look(tasks);
        if (stolen)
            NoteProfit(m_worker->scheduler->tuning, m_worker->fromTasks, m_begin,
                       m_begin + elapsed);
    }

private:
    // Returns when the first task of this claim began. That is when the previous claim of the batch
    // ended, if no other task has finished here since. Work that came in between without finishing
    // counts for this claim. That only makes the next claim smaller.
    uint64_t Begin() const noexcept {
        const TaskTime &time = m_worker->taskTime;
        const bool isNext =
            !m_worker->claim.stolen && m_batch == time.batch && m_batch != 0 &&
            m_worker->finished.load(kRelaxed) + m_worker->pending.finished == time.finishedThen;
        return isNext ? time.lookedAt : env::Ticks();
    }

    uint64_t Look(uint32_t tasks) noexcept {
        const uint64_t now = env::Ticks();
        const uint64_t elapsed = now - m_begin;
        if (m_batch != 0) {
            const uint64_t finished =
                // only the owner writes it
                m_worker->finished.load(kRelaxed) + m_worker->pending.finished;
            m_worker->taskTime = {m_batch, elapsed, tasks, now, finished};
        }
        return elapsed;
    }

    Worker *m_worker;
    uint64_t m_batch;
    uint64_t m_begin = 0;
    int32_t m_nextLook = 4;  // in tasks
    bool m_running;
};

// BeginPinned and EndPinned do what only claims of pinned tasks need before and after.
WEFT_NOINLINE uint32_t BeginPinned(Fiber *self) noexcept {
    const uint32_t outerPin = self->pinnedTo;
    self->pinnedTo = self->worker->index;
    race::ComesToThread(self->worker);
    return outerPin;
}

WEFT_NOINLINE void EndPinned(Fiber *self, uint32_t outerPin) noexcept {
    Worker *worker = self->worker;
    race::LeavesThread(worker);
    self->pinnedTo = outerPin;
    if (worker->scheduler->IsAttachedSlot(worker->index))
        Unbind(*worker->scheduler, worker, *worker);
}

// Returns the origin of the next task of the worker's claim.
Origin OriginOf(const Claim &claim) noexcept {
    Origin origin{claim.counter, claim.taskId, claim.stolen ? claim.owner : kAnyWorker};
    if (claim.ofGroup) origin.group = TaskGroupAccess::Of(claim.counter);
    return origin;
}

// Runs one claimed task that is not part of a slice.
template <bool kWatched>
inline void RunClaimedTask(Fiber *self) noexcept {
    Worker *worker = self->worker;
    Counter *const counter = worker->claim.counter;
    const bool stolen = worker->claim.stolen && worker->scheduler->workerCount != 0;
    const Task task = worker->claim.single;
    const Origin origin = kWatched ? OriginOf(worker->claim) : Origin{};
    worker->claim.Clear();
    if (WEFT_LIKELY(!stolen)) {
        CallTask<kWatched>(self, worker->taskScheduler, task, origin);
    } else {
        Stopwatch stopwatch(worker);
        CallTask<kWatched>(self, worker->taskScheduler, task, origin);
        if (self->worker == worker) stopwatch.Stop(1, true);
    }
    NoteFinished(self->worker, counter, 1);
}

// Notes that all started tasks of the slice have finished.
void NoteSlice(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    NoteFinished(worker, claim.counter,
                 static_cast<uint32_t>(claim.next - std::exchange(claim.noted, claim.next)));
}

// Returns true if the next task of the slice may follow. If a fiber waits for a value above zero of
// the counter, the counter is lowered in between.
bool GoesOn(Worker *worker, Priority priority) noexcept {
    const Urgency call = UrgencyOf(worker, priority);
    if (WEFT_LIKELY(call == Urgency::None)) return true;
    if (call == Urgency::ForValue && AnyForValue(*worker->scheduler, worker->claim.counter)) {
        NoteSlice(worker);
        LowerPending(worker);
    }
    return call == Urgency::ForValue;
}

// Runs the tasks of a claimed slice. Finished tasks are noted at the end, or earlier where another
// task could wait for them (LowerPending).
template <bool kWatched>
inline void RunSlice(Fiber *self) noexcept {
    Worker *const worker = self->worker;
    const Scheduler &scheduler = *worker->scheduler;
    Claim &claim = worker->claim;
    Counter *const counter = claim.counter;
    const bool stolen = claim.stolen;
    TaskScheduler *const taskScheduler = worker->taskScheduler;
    Stopwatch stopwatch(worker);
    const Task *const first = claim.first;
    const Task *const begin = claim.next;
    const Task *const end = claim.end;
    if (begin + 1 != end) worker->hides.store(true, kRelaxed);
    const Task *next = begin;
    const Task *look = stopwatch.NextLook(begin, end);
    bool spent = false;
    Origin origin = kWatched ? OriginOf(claim) : Origin{};
    origin.isOfSlice = true;
    do {
        const Task task = *next;
        if (kWatched) {
            origin.taskId = claim.taskId;
            claim.taskId += claim.taskId != 0;
        }
        claim.next = ++next;
        CallTask<kWatched>(self, taskScheduler, task, origin);
        if (WEFT_UNLIKELY(self->worker != worker || claim.first != first)) {
            // The task waited, and the rest of the claim went back to a lane then.
            if (kWatched) TellKeptEnd(self->worker);
            NoteFinished(self->worker, counter, 1);
            return;
        }
        if (WEFT_UNLIKELY(next == look)) {
            if (next == end) break;
            spent = stopwatch.Spent(static_cast<uint32_t>(next - begin));
            if (spent) break;
            look = stopwatch.NextLook(begin, end);
        }
    } while (NothingUrgent(scheduler, worker) || GoesOn(worker, self->level.ThePriority()));
    if (kWatched) TellKeptEnd(worker);
    NoteSlice(worker);
    if (!spent)
        // the time sets the size of the next claim
        stopwatch.Stop(static_cast<uint32_t>(next - begin), stolen);
    UnclaimRest(worker);  // gives the slab places back
}

WEFT_NOINLINE void RunWatched(Fiber *self, bool slice) noexcept {
    slice ? RunSlice<true>(self) : RunClaimedTask<true>(self);
}

}  // namespace

// A closure in a block of the pool is destroyed, and its block is returned. A task may also have a
// part of a closure as its argument; so the block must begin there, and have the task's function.
// The closure's destructor may wait, so the worker is read afterwards.
void SkipTask(const Fiber *self, const Task &task) noexcept {
    auto &closures = self->worker->scheduler->closures;
    if (reinterpret_cast<uintptr_t>(task.arg) % alignof(ClosureBlock) != 0 ||
        !closures.Contains(task.arg))
        return;
    const ClosureBlock *block = static_cast<const ClosureBlock *>(task.arg);
    if (block->run != task.function) return;
    task.function(nullptr, task.arg);
    race::Frees(task.arg);
    closures.GiveBack(block->index, CacheOf(self->worker));
}

void RunClaim(Fiber *self) noexcept {
    Worker *worker = self->worker;
    const Claim &claim = worker->claim;
    const Running running(self, claim.name, claim.level);
    const bool watched = worker->scheduler->trace != nullptr || claim.ofGroup;
    const bool isPinned = claim.pinned;
    uint32_t outerPin = kAnyWorker;
    if (WEFT_UNLIKELY(isPinned)) outerPin = BeginPinned(self);
    if (WEFT_UNLIKELY(watched)) {
        RunWatched(self, claim.batch != 0);
    } else if (claim.batch == 0) {
        RunClaimedTask<false>(self);
    } else {
        RunSlice<false>(self);
    }
    if (WEFT_UNLIKELY(isPinned)) EndPinned(self, outerPin);
}

}  // namespace weft::internal
