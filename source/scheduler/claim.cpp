#include "scheduler/claim.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/find_work.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/rescue.h"
#include "scheduler/run_task.h"
#include "scheduler/scheduler.h"
#include "scheduler/steal_backoff.h"
#include "scheduler/submit.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// How many of `count` tasks of the batch may be claimed at once.
uint32_t Allowed(const Worker &worker, uint64_t batch, uint32_t count) noexcept {
    if (race::kFinder) return 1;
    const TaskTime &time = worker.taskTime;
    if (time.batch != batch || worker.scheduler->workerCount == 0) return 1;
    const uint64_t fit =
        worker.scheduler->times.claimBudget * time.tasks / std::max<uint64_t>(time.ticks, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, count));
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
    const TaskEntry rest =
        claim.batch != 0 ? TaskEntry::Slice(claim.next, claim.Left(), claim.batch, claim.counter,
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

    /// The worker calls Spent when it has run the slice's tasks from `begin` up to the returned
    /// one, unless that is `end`.
    const Task *NextLook(const Task *begin, const Task *end) const noexcept {
        return m_running && end - begin > m_nextLook ? begin + m_nextLook : end;
    }
    /// `tasks` tasks have finished. Returns true if they have used up the budget: then others may
    /// take the remaining ones.
    bool Spent(uint32_t tasks) noexcept {
        m_nextLook *= 4;
        return Look(tasks) >= m_worker->scheduler->times.claimBudget;
    }

    /// After the last task, unless the fiber was somewhere else in between: then the time says
    /// nothing.
    void Stop(uint32_t tasks, bool stolen) noexcept {
        if (!m_running) return;
        const uint64_t elapsed = Look(tasks);
        if (stolen)
            NoteProfit(m_worker->scheduler->times, m_worker->fromTasks, m_begin, m_begin + elapsed);
    }

private:
    // Where the slice before this one ended, if that was just now: nothing else has finished here
    // since. (Whatever came in between without finishing counts as this slice's, which only makes
    // the next claim smaller.)
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
                m_worker->finished.load(kRelaxed) + m_worker->pending.finished;  // the owner's own
            m_worker->taskTime = {m_batch, elapsed, tasks, now, finished};
        }
        return elapsed;
    }

    Worker *m_worker;
    uint64_t m_batch;
    uint64_t m_begin = 0;
    int32_t m_nextLook = 4;  // tasks
    bool m_running;
};

}  // namespace

void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept {
    const uint32_t set = LevelOf(lane).Set();
    if (WEFT_UNLIKELY((set != 0 && !AcquireSet(*worker, set)) ||
                      !worker->lanes[lane].Push(entry))) {
        ReportFatal(worker->scheduler->options, ReportCode::OutOfMemory,
                    "Give the process more memory, or submit less at once.",
                    "a worker's deque could not grow");
    }
    worker->mayHold |= uint64_t{1} << lane;
    ShowLane(worker, lane);
}

void ClaimEntry(Worker *worker, const TaskEntry &entry, Level level, bool stolen) noexcept {
    Claim &claim = worker->claim;
    claim.counter = entry.TheCounter();
    claim.name = entry.Name();
    claim.stack = entry.Stack();
    claim.level = level;
    claim.stolen = stolen;
    claim.pinned = claim.hasRest = false;
    if (!entry.IsSlice()) {
        claim.single = entry.TheTask();
        claim.first = claim.next = claim.noted = &claim.single;
        claim.end = claim.next + 1;
        claim.batch = 0;
        return;
    }
    claim.first = claim.next = claim.noted = entry.First();
    claim.batch = entry.Batch();
    claim.end = claim.next + Allowed(*worker, claim.batch, entry.Count());
    const uint32_t rest = entry.Count() - claim.Left();
    if (rest != 0) {
        claim.hasRest = true;
        // What was stolen in two halves: the next thief leaves one of them.
        const uint32_t upper = stolen && rest >= 4 ? rest / 2 : 0;
        const auto push = [&](const Task *first, uint32_t count) {
            PushEntry(worker, LaneOf(level, claim.stack),
                      TaskEntry::Slice(first, count, claim.batch, claim.counter, claim.name,
                                       claim.stack));
        };
        if (upper != 0) push(claim.end + (rest - upper), upper);
        push(claim.end, rest - upper);
        // A worker that looked between our pop and our push may sleep now.
        WakeForLevel(*worker->scheduler, worker, 1, level);  // [re-check]
    }
}

void ClaimPinned(Worker *worker, const Task &task, Counter *counter, Label label) noexcept {
    ClaimEntry(worker, TaskEntry::Single(task, counter, label.name, label.Stack()),
               label.TheLevel(), false);
    worker->claim.pinned = true;
}

void UnclaimNow(Worker *worker) noexcept {
    GiveBackStarted(worker);
    worker->hides.store(false, kRelaxed);
    if (!worker->claim.HasMore()) return worker->claim.Clear();
    const uint32_t lane = LaneOf(worker->claim.level, worker->claim.stack);
    PushEntry(worker, lane, TakeRest(worker));                         // [order]
    WakeForLevel(*worker->scheduler, worker, 1, worker->claim.level);  // [re-check]
}

void PutClaimBack(Worker *worker) noexcept {
    if (worker->claim.pinned) return PostClaimAgain(worker);
    UnclaimNow(worker);
    if (worker->claim.stack == StackClass::Large) CountLarge(*worker->scheduler);
    // Between our look for a fiber and our push one may have been freed: then nobody was told.
    if (worker->scheduler->pool.AnyFree(worker->claim.stack))
        WakeForLevel(*worker->scheduler, worker, 1, worker->claim.level);  // [re-check]
}

namespace {

// What only claims of pinned tasks need before and after.
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

// All started tasks of the slice have finished.
void NoteSlice(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    NoteFinished(worker, claim.counter,
                 static_cast<uint32_t>(claim.next - std::exchange(claim.noted, claim.next)));
}

// Whether a task of the slice may follow another one. If somebody waits for a value of the counter,
// it is lowered in between.
bool GoesOn(Worker *worker, Priority priority) noexcept {
    const Call call = CallOf(worker, priority);
    if (WEFT_LIKELY(call == Call::None)) return true;
    if (call == Call::ForValue && AnyForValue(*worker->scheduler, worker->claim.counter)) {
        NoteSlice(worker);
        LowerPending(worker);
    }
    return call == Call::ForValue;
}

// What has finished is noted where somebody could wait for it (LowerPending), and at the end.
template <bool kTraced>
inline void RunSlice(Fiber *self) noexcept {
    Worker *const worker = self->worker;
    const Scheduler &scheduler = *worker->scheduler;
    Claim &claim = worker->claim;
    Counter *const counter = claim.counter;
    const bool stolen = claim.stolen;
    TaskScheduler *const facade = worker->facade;
    Stopwatch stopwatch(worker);
    const Task *const first = claim.first;
    const Task *const begin = claim.next;
    const Task *const end = claim.end;
    if (begin + 1 != end) worker->hides.store(true, kRelaxed);
    const Task *next = begin;
    const Task *look = stopwatch.NextLook(begin, end);
    bool spent = false;
    do {
        const Task task = *next;
        claim.next = ++next;
        CallTask<kTraced>(self, facade, task);
        if (WEFT_UNLIKELY(self->worker != worker || claim.first != first)) {
            // The task waited, and the rest of the claim went back to the deque then.
            NoteFinished(self->worker, counter, 1);
            return;
        }
        if (WEFT_UNLIKELY(next == look)) {
            if (next == end) break;
            spent = stopwatch.Spent(static_cast<uint32_t>(next - begin));
            if (spent) break;
            look = stopwatch.NextLook(begin, end);
        }
    } while (NobodyCalls(scheduler, worker) || GoesOn(worker, self->level.ThePriority()));
    NoteSlice(worker);
    if (!spent)
        // the next claim is sized by what these took
        stopwatch.Stop(static_cast<uint32_t>(next - begin), stolen);
    UnclaimRest(worker);  // gives its places back
}

WEFT_NOINLINE void RunTraced(Fiber *self, bool slice) noexcept {
    slice ? RunSlice<true>(self) : RunSingle<true>(self);
}

}  // namespace

void RunClaim(Fiber *self) noexcept {
    Worker *worker = self->worker;
    const Claim &claim = worker->claim;
    const Running running(self, claim.name, claim.level);
    const bool traced = worker->scheduler->trace != nullptr;
    const bool isPinned = claim.pinned;
    uint32_t outerPin = kAnyWorker;
    if (WEFT_UNLIKELY(isPinned)) outerPin = BeginPinned(self);
    if (WEFT_UNLIKELY(traced)) {
        RunTraced(self, claim.batch != 0);
    } else if (claim.batch == 0) {
        RunSingle<false>(self);
    } else {
        RunSlice<false>(self);
    }
    if (WEFT_UNLIKELY(isPinned)) EndPinned(self, outerPin);
}

namespace {

// Tasks of the running slice that have finished, without the one that runs.
void NoteClaimed(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    if (!claim.AnyToNote()) return;
    const uint32_t count = static_cast<uint32_t>(claim.next - 1 - claim.noted);
    claim.noted += count;
    NoteFinished(worker, claim.counter, count);
}

// As many pieces as the latest ones have filled took so long: how many may be pending from now on.
// One: nothing is kept.
void LookAtPending(Worker *worker) noexcept {
    constexpr uint32_t kMaxPieces = 64;
    // Without workers the order is always the same, whatever the clock says.
    if (race::kFinder || worker->scheduler->workerCount == 0) return;
    const Times &times = worker->scheduler->times;
    PendingLimit &limit = worker->pendingLimit;
    const uint64_t now = env::Ticks();
    const uint64_t piece = (now - std::exchange(limit.lookedAt, now)) / worker->pending.pieces;
    const uint32_t most = std::min(limit.pieces * 2, kMaxPieces);
    limit.pieces =
        piece > times.longTask
            ? 1
            : std::clamp<uint32_t>(times.maxPending / std::max<uint64_t>(piece, 1), 1, most);
}

}  // namespace

void LowerPending(Worker *worker) noexcept {
    NoteClaimed(worker);
    PendingDecrement &pending = worker->pending;
    Counter *const counter = pending.counter;
    const uint32_t finished = pending.finished, units = pending.units;
    pending = {};
    if (counter != nullptr && units != 0) LowerCounter(*worker->scheduler, worker, *counter, units);
    CountFinished(worker, finished);
}

bool LookIfPendingIsDue(Worker *worker) noexcept {
    const PendingDecrement &pending = worker->pending;
    if (AnyForValue(*worker->scheduler, pending.counter)) return true;
    if (pending.pieces < worker->pendingLimit.pieces) return false;
    LookAtPending(worker);
    return true;
}

bool RaisePast(Worker *worker, Counter *counter, uint32_t n) noexcept {
    NoteClaimed(worker);
    PendingDecrement &pending = worker->pending;
    // The counter must show each value that somebody waits for. It would skip values if new tasks
    // took over pending decrements.
    if (counter == nullptr || pending.counter != counter ||
        AnyForValue(*worker->scheduler, counter)) {
        LowerPending(worker);
        return counter == nullptr || RaiseCounter(*worker->scheduler, *counter, n);
    }
    const uint32_t taken = std::min(n, pending.units);
    if (taken != n && WEFT_UNLIKELY(!RaiseCounter(*worker->scheduler, *counter, n - taken)))
        return false;
    pending.units -= taken;
    return true;
}

}  // namespace weft::internal
