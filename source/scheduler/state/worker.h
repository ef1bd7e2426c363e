// A worker: all that one thread of the scheduler owns. Data only; the verbs are in the other files
// of this folder.
#pragma once

#include "containers/push_list.h"
#include "containers/task_slab.h"
#include "containers/work_stealing_deque.h"
#include "platform/env.h"
#include "scheduler/state/fiber.h"
#include "scheduler/state/inbox.h"
#include "scheduler/state/level.h"
#include "scheduler/state/task_entry.h"

#include <cstdint>

namespace weft::internal {

struct Scheduler;

/// What becomes of the fiber that was left; carried out by the next context on the same thread.
enum class Destination : uint8_t {
    None,       ///< it stays this worker's own (a thread stack)
    ToPool,     ///< free it
    ToWaiting,  ///< register it on the counter that it waits for
    ToReady     ///< it only yielded: to the back of the ready lane
};

struct PendingSwitch {
    Fiber *from = nullptr;
    Destination destination = Destination::None;
};

/// Tasks that a worker has claimed and not started yet: a part of a slice, or one task.
struct Claim {
    Task single{nullptr, nullptr};
    // that is not given back to its slab yet; null while nothing is claimed
    const Task *first = nullptr;
    const Task *next = nullptr;  // to start
    // of a slice: those before it are among the pending; the one before `next` runs
    const Task *noted = nullptr;
    const Task *end = nullptr;
    Counter *counter = nullptr;
    const char *name = nullptr;
    uint64_t batch = 0;  // 0: not a slice
    Level level;         // of the lane that it came from, or what its waiter lent it
    StackClass stack = StackClass::Small;
    bool stolen = false;
    bool pinned = false;
    bool hasRest = false;  // what was not claimed of the slice went to this worker's lane

    bool HasMore() const noexcept { return next != end; }
    uint32_t Left() const noexcept { return static_cast<uint32_t>(end - next); }
    /// Tasks have finished that are not among the pending yet.
    bool AnyToNote() const noexcept {
        return reinterpret_cast<uintptr_t>(next) >
               reinterpret_cast<uintptr_t>(noted) + sizeof(Task);
    }
    void Clear() noexcept { first = next = noted = end = nullptr; }
};

/// A fiber in RunPinnedTasks. It is left, but goes nowhere: the loops of its worker return to it.
struct Pump {
    Fiber *fiber;
    uint32_t max;
    uint32_t ran;
    Pump *outer;
};

/// Finished tasks that are not counted off yet. While it has units of the counter, that is above
/// zero, so it is alive.
struct PendingDecrement {
    Counter *counter = nullptr;  // of all of them; null: they have none
    uint32_t finished = 0;       // tasks
    uint32_t units = 0;          // to lower the counter by; -1, see TakeOverFromRunning
    uint32_t pieces = 0;         // in which they were run: claims, and tasks that were not claimed

    bool Any() const noexcept { return finished != 0; }
};

/// For how many pieces a decrement may be pending: as many as take Tuning::maxPending.
struct PendingLimit {
    uint32_t pieces = 1;
    uint64_t lookedAt = 0;  // ticks
};

/// What the tasks of the latest slice took. An estimate of another batch says nothing.
struct TaskTime {
    uint64_t batch = 0;
    uint64_t ticks = 0;
    uint64_t tasks = 1;             // that took so many ticks together
    uint64_t lookedAt = 0;          // when they ended,
    uint64_t finishedThen = ~0ull;  // and how many tasks had finished on this worker then
};

/// A wait with Meanwhile::OwnTasks, see own_tasks.h. On the waiter's stack.
struct OwnWait {
    const Fiber *fiber;
    const Counter *counter;    // that the wait is for; null if it waits for several
    const WaitFrame *outside;  // the fiber's innermost frame when this wait began
    const Pump *pump;          // of the worker, when this wait began
    OwnWait *outer;            // the next outer one on the same worker
};

/// A counter whose tasks have the priority of the task that waits for them, while that one runs
/// them itself.
struct Lent {
    uint64_t bits = 0;  // 0: none

    Lent() = default;
    explicit constexpr Lent(uint64_t word) noexcept : bits(word) {}
    Lent(const Counter &counter, Priority priority) noexcept
        : bits(reinterpret_cast<uint64_t>(&counter) | (static_cast<uint64_t>(priority) + 1)) {}
    explicit operator bool() const noexcept { return bits != 0; }
    bool IsOf(const Counter *counter) const noexcept {
        return bits != 0 && (bits & ~kPriorityMask) == reinterpret_cast<uint64_t>(counter);
    }
    Priority ThePriority() const noexcept {
        return static_cast<Priority>((bits & kPriorityMask) - 1);
    }

private:
    static_assert(alignof(Counter) > kPriorities, "a priority lies in a counter's address");
    static constexpr uint64_t kPriorityMask = 3;
};

/// Since when nobody has taken the oldest item of a queue, see aging.h. Any worker may look; all
/// relaxed, as nothing depends on them being of the same moment: a wrong guess serves the oldest
/// item too early or one look later.
struct QueueAge {
    env::Atomic<uint64_t> oldest{0};  // index of the item that was the oldest at the last look
    env::Atomic<uint64_t> since{0};   // ticks
    env::Atomic<uint64_t> lateTo{0};  // items up to this index are late; 0: none is
    env::Atomic<uint32_t> stuckLooks{
        0};  // of a late lane: inspections in a row that found no fiber for it, see stall.h
    env::Atomic<uint64_t> stuckSince{0};  // ticks: the first of them
};

/// One that may be late: a lane, ready fibers, or what is pinned to the worker itself.
constexpr uint32_t kAgedQueues = kQueues + kPriorities;
struct LateQueue {
    uint32_t worker = 0;
    uint32_t queue = kAgedQueues;  // that: none
    explicit operator bool() const noexcept { return queue != kAgedQueues; }
};

/// What this worker does for queues that are late, see aging.h. In ticks.
struct Aging {
    uint64_t looks = 0;  // that there have been
    uint32_t picksToLook = 1;
    uint32_t period = 1;  // picks between two looks at the clock
    uint64_t lookedAt = 0;
    uint64_t inspectedAt = 0;
    uint32_t other = 0;                     // the worker whose queues have their turn
    uint32_t watched = 0;                   // the one that is inspected while nothing is chosen
    LateQueue late;                         // is served
    LateQueue last;                         // was chosen last
    bool wasServed = false;                 // since it was chosen
    uint32_t lateQueues = 0;                // seen at the last inspection
    uint64_t pinnedSeen[kPriorities] = {};  // Worker::pinnedTaken at the last inspection
    uint64_t pinnedSince[kPriorities] = {};
    int64_t credit = 0;     // that late work may take
    bool charging = false;  // late work has been begun; it is paid for at the next look
};

/// How long a worker keeps away from what others have, see steal_backoff.h. In ticks.
struct KeepsAway {
    uint64_t until = 0;
    uint64_t penalty = 0;  // `until` was never further ahead

    /// Also if `until` lies further ahead than that: then the ticks have begun anew.
    bool IsOver(uint64_t now) const noexcept { return until - now - 1 >= penalty; }
};

struct alignas(kLineBytes) Worker {
    // Owner only.
    Scheduler *scheduler = nullptr;
    TaskScheduler *taskScheduler = nullptr;  // the scheduler's
    // where that is found as long as the process does not fork: each public call compares it
    void *const *home = nullptr;
    uint32_t index = 0;
    Fiber *current = nullptr;
    PendingSwitch pendingSwitch;
    // of fibers here, by waits; others read it for reports alone
    env::Atomic<uint64_t> suspensions{0};
    Claim claim;
    PendingDecrement pending;
    PendingLimit pendingLimit;
    Pump *pump = nullptr;
    TaskTime taskTime;
    uint32_t newestLane = 0;  // where this worker published last
    // its levels that may hold ready fibers, as bits; the others do not: only the owner adds
    uint32_t mayHoldFibers = 0;
    uint64_t mayHold = 0;        // the same for lanes and tasks
    uint32_t setsAcquired = 0;   // whose queues exist, as bits
    uint32_t runsSeen = ~0u;     // `runs` when the next ones were made of it, see groups.h
    uint32_t specialFibers = 0;  // levels that it runs and that FindPlain does not look at
    uint64_t specialLanes = 0;
    uint64_t runsLanes = 0;  // of the levels that it runs
    uint64_t batches = 0;    // that this worker has submitted
    Aging aging;
    bool taskBeforeReady = false;         // somebody yielded: one new task first
    Priority yielded = Priority::Normal;  // of the fiber that did
    bool pinnedNext = false;              // see AlternateFibers in find_work.cpp
    // the caller looks for work right away: one ready fiber wakes nobody
    bool willPollNext = false;
    bool mustNotSubmit = false;  // a hook runs while the worker may be on its way out
    bool inHook = false;         // the host's function runs: it must not wait
    bool inactive = false;       // see TaskScheduler::SetActiveWorkers
    uint8_t group = 0;           // its index; of an attached thread 0, for notices alone
    // the waits on this worker by Meanwhile; those with AnyTask are not counted
    uint32_t restricting[5] = {};
    // how many priorities, from High on: 0 in a wait with OwnTasks
    uint32_t mayBegin = kPriorities;
    // while `own` is not null: when to go through all queues, in ns
    uint64_t digAt = 0;
    uint64_t digInterval = 0;
    OwnWait *own = nullptr;    // the innermost wait with OwnTasks
    bool searching = false;    // counted as a searcher
    bool wakePending = false;  // so it was; a wake is owed if something else is picked
    uint32_t victim = 0;       // the last one that was robbed with success
    // its share of sleepers, see WakeWanted; written by the waker that took it
    uint32_t toWake = 0;
    KeepsAway fromTasks;
    KeepsAway fromFibers;  // that are ready
    // ticks: when a ready fiber of others was taken; 0: this visit is over
    uint64_t visitBegan = 0;
    uint64_t visitSuspensions = 0;  // `suspensions` then
    uint64_t lookAgainAt = 0;       // ticks: no look at others before
    uint64_t lookInterval = 1;      // ticks
    uint64_t activitySeen = 0;      // of the others, at the last look
    uint64_t activityChangedAt = 0;
    uint64_t floatingPoint = 0;            // the thread's control words, with which tasks begin
    InboxQueue pinnedFibers[kPriorities];  // both taken from the inbox, oldest first
    InboxQueue pinnedTasks[kPriorities];
    // It went to sleep with pinned tasks that it has no fiber for. relaxed: published by the
    // announcement.
    env::Atomic<bool> keepsTasks{false};
    uint32_t rescuesSeen[kClasses] = {};     // before the last Rescue, see rescue.h
    uint64_t pinnedTaken[kPriorities] = {};  // from the queues above
    uint32_t pinnedCount = 0;                // in the queues above
    bool wantsLarge = false;                 // counted in Scheduler::pinnedLarge
    TaskSlab slab;
    Fiber threadFiber;  // the stack that the thread came with; an attached thread's reserve stack
    env::Thread thread;
    env::SignalStack signalStack;
    env::ExitCall exitCall;  // of an attached thread
    // of an attached thread, and of the caller of Run: what it was before
    void *outerSlot = nullptr;

    // Written by the owner, read by all: tasks submitted and finished here. Their sums tell whether
    // anything is pending.
    alignas(kLineBytes) env::Atomic<uint64_t> submitted{0};
    env::Atomic<uint64_t> finished{0};
    // a wait keeps it from some or all tasks. relaxed: a hint, see own_tasks.h
    env::Atomic<bool> restricted{false};
    // tasks that it has claimed and not begun; relaxed, a hint for those who ask
    env::Atomic<bool> hides{false};
    env::Atomic<uint32_t> runs{0};  // levels, as bits, see groups.h

    // Shared.
    alignas(kLineBytes) PushList<InboxItem> inbox;  // what only this worker may run
    // classes, as bits: others found what only this worker may hand over
    env::Atomic<uint32_t> rescuesAsked{0};
    // a worker that has found nothing asks for what this one has claimed and not begun
    env::Atomic<bool> asked{false};
    env::Atomic<uint64_t> lends{0};  // see Lent; relaxed, but where a notice is hidden: a hint
    env::Parker parker;
    WorkStealingDeque<TaskEntry> lanes[kLanes];  // by LaneOf
    WorkStealingDeque<uint64_t> ready[kLevels];  // indices of ready fibers
    QueueAge ages[kQueues];                      // of the lanes, then of the ready fibers

    // Attached threads only.
    env::Atomic<uint32_t> accepts{0};  // pinned tasks
    // pinned tasks, and waits that must end on this worker, that are not over
    Counter bound;
};

/// For the owner: whether a lane of its own, or its ready fibers of a level, hold something. A
/// thief may take it meanwhile.
template <class Bits, class Item>
WEFT_FORCEINLINE bool HoldsIn(Bits &mayHold, uint32_t index,
                              const WorkStealingDeque<Item> &items) noexcept {
    const Bits bit = Bits{1} << index;
    if ((mayHold & bit) == 0) return false;
    if (!items.LooksEmpty()) return true;
    mayHold &= ~bit;
    return false;
}
inline bool HoldsTasks(const Worker *worker) noexcept { return worker->mayHold != 0; }  // perhaps
inline bool HoldsTask(Worker *worker, uint32_t lane) noexcept {
    return HoldsIn(worker->mayHold, lane, worker->lanes[lane]);
}
inline bool HoldsFiber(Worker *worker, Level level) noexcept {
    return HoldsIn(worker->mayHoldFibers, level.Index(), worker->ready[level.Index()]);
}
inline bool HoldsAnyFiber(Worker *worker) noexcept {
    for (uint32_t levels = worker->mayHoldFibers; levels != 0; levels &= levels - 1) {
        if (HoldsFiber(worker, LevelAt(LowestBit(levels & (~levels + 1))))) return true;
    }
    return false;
}

/// The worker has nothing claimed now, so it has given what others asked for. relaxed: a hint;
/// seq_cst: before it claims again.
inline void AnswerAsk(Worker *worker) noexcept {
    if (worker->asked.load(kRelaxed)) worker->asked.exchange(false, kSeqCst);
}

/// The calling thread's worker, or null. Stale after anything that may switch: use fiber->worker
/// then.
inline Worker *CurrentWorker() noexcept { return static_cast<Worker *>(env::ThreadSlot()); }

/// The worker's fiber is about to leave, or runs no tasks of its counter any more.
inline void StopLending(Worker *worker) noexcept {
    // the owner's own; a hint
    if (WEFT_UNLIKELY(worker->lends.load(kRelaxed) != 0)) worker->lends.store(0, kRelaxed);
}

}  // namespace weft::internal
