// A worker: all that one thread of the scheduler owns. This is data only. The functions are in
// other files of scheduler/.
#pragma once

#include "containers/push_list.h"
#include "containers/task_slab.h"
#include "containers/work_stealing_deque.h"
#include "platform/env.h"
#include "scheduler/state/fiber.h"
#include "scheduler/state/inbox.h"
#include "scheduler/state/level.h"
#include "scheduler/state/queue_age.h"
#include "scheduler/state/task_entry.h"

#include <atomic>
#include <cstdint>

namespace weft {
class NoSuspend;
}

namespace weft::internal {

struct Scheduler;

/// What happens to the fiber that was left. The next context on the same thread carries it out.
enum class Destination : uint8_t {
    None,       ///< it stays with this worker (a thread stack, or a pump)
    ToPool,     ///< it is freed
    ToWaiting,  ///< it is registered on the counter that it waits for
    ToReady     ///< it has yielded: it becomes the last ready fiber
};

/// What the next context on this thread has to do.
struct PendingSwitch {
    Fiber *from = nullptr;
    Destination destination = Destination::None;
};

/// The end of a task that is not recorded yet, see TellKeptEnd in trace.h.
struct KeptEnd {
    const char *name = nullptr;
    TaskFunction function = nullptr;
    uint32_t taskId = 0;
    uint32_t stolenFrom = kAnyWorker;
    uint32_t fiber = kAnyWorker;
};

/// Tasks that a worker has claimed and not started yet: a part of a slice, or one task.
struct Claim {
    Task single{nullptr, nullptr};
    // The first task that has not been returned to its slab. null: nothing is claimed.
    const Task *first = nullptr;
    const Task *next = nullptr;  // the next task to start
    // Of a slice: the tasks before this one are counted in Worker::pending. The task before `next`
    // is running.
    const Task *noted = nullptr;
    const Task *end = nullptr;
    Counter *counter = nullptr;
    const char *name = nullptr;
    uint64_t batch = 0;   // 0: not a slice
    uint32_t taskId = 0;  // of the task at `next`; 0: tasks are not traced
    Level level;  // the level of the lane that it came from, or the level that its waiter lent it
    StackClass stack = StackClass::Small;
    bool stolen = false;
    uint32_t owner = 0;  // the worker from whose deque it was taken
    bool pinned = false;
    bool hasRest = false;  // the rest of the slice lies in this worker's lane
    bool ofGroup = false;  // the counter is a TaskGroup

    bool HasMore() const noexcept { return next != end; }
    uint32_t Left() const noexcept { return static_cast<uint32_t>(end - next); }
    /// Returns true if tasks have finished that are not counted in Worker::pending yet.
    bool AnyToNote() const noexcept {
        return reinterpret_cast<uintptr_t>(next) >
               reinterpret_cast<uintptr_t>(noted) + sizeof(Task);
    }
    void Clear() noexcept { first = next = noted = end = nullptr; }
};

/// A fiber in RunPinnedTasks. It is suspended, but lies in no queue: the loops of its worker return
/// to it.
struct Pump {
    Fiber *fiber;
    uint32_t max;
    uint32_t ran;
    Pump *outer;
};

/// Finished tasks for which the counter has not been lowered yet. While `units` is not 0, the
/// counter is above zero, so it is alive.
struct PendingDecrement {
    Counter *counter = nullptr;  // counts all these tasks; null: none does
    uint32_t finished = 0;       // number of tasks
    uint32_t units = 0;          // the counter will be lowered by this; -1: see TakeOverFromRunning
    // These tasks ran in this many pieces: claims, or single tasks without a claim.
    uint32_t pieces = 0;

    bool Any() const noexcept { return finished != 0; }
};

/// For how many pieces decrements may be pending: as many as take Tuning::maxPending.
struct PendingLimit {
    uint32_t pieces = 1;
    uint64_t lookedAt = 0;  // ticks
};

/// How long the tasks of the latest slice took. Says nothing about the tasks of another batch.
struct TaskTime {
    uint64_t batch = 0;
    uint64_t ticks = 0;
    uint64_t tasks = 1;             // number of tasks that took `ticks` together
    uint64_t lookedAt = 0;          // when they ended
    uint64_t finishedThen = ~0ull;  // number of tasks that had finished on this worker then
};

/// A wait with Meanwhile::OwnTasks, see find/own_tasks.h. Lies on the waiter's stack.
struct OwnWait {
    const Fiber *fiber;
    const Counter *counter;    // what it waits for; null if it waits for several
    const WaitFrame *outside;  // the fiber's innermost frame when this wait began
    const Pump *pump;          // the worker's innermost pump when this wait began
    OwnWait *outer;            // the next outer wait on the same worker
};

/// A counter, and the priority of a task that waits for it and runs its tasks itself. Meanwhile
/// other workers run tasks of the counter at this priority, too.
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
    static_assert(alignof(Counter) > kPriorities,
                  "bits of a counter's address must be free for a priority");
    static constexpr uint64_t kPriorityMask = 3;
};

/// Until when a worker leaves other workers' items alone, see find/steal_backoff.h. In ticks.
struct KeepsAway {
    uint64_t until = 0;
    uint64_t penalty = 0;  // `until` was at most this far in the future

    /// Also true if `until` is further in the future than that. Then the ticks have begun at a
    /// smaller value again.
    bool IsOver(uint64_t now) const noexcept { return until - now - 1 >= penalty; }
};

struct alignas(kLineBytes) Worker {
    // Owner only.
    Scheduler *scheduler = nullptr;
    TaskScheduler *taskScheduler = nullptr;  // of the scheduler
    // *home is `taskScheduler`, but null in a child process that was forked during the run. Each
    // public call compares it.
    void *const *home = nullptr;
    uint32_t index = 0;
    Fiber *current = nullptr;
    PendingSwitch pendingSwitch;
    // Fibers that waits and yields have suspended here. relaxed: others read it only for reports.
    env::Atomic<uint64_t> suspensions{0};
    Claim claim;
    PendingDecrement pending;
    PendingLimit pendingLimit;
    Pump *pump = nullptr;
    TaskTime taskTime;
    uint32_t newestLane = 0;  // the lane in which this worker published last
    // Levels of which this worker may hold ready fibers, as bits. It holds none of the others,
    // because only the owner adds fibers.
    uint32_t mayHoldFibers = 0;
    uint64_t mayHold = 0;       // the same for lanes and tasks
    uint32_t setsAcquired = 0;  // sets whose queues exist, as bits
    // The value of `runs` from which LookAtRuns computed the next masks.
    uint32_t runsSeen = ~0u;
    // Levels of fibers, and lanes, that this worker runs and that FindPlain does not look at.
    uint32_t specialFibers = 0;
    uint64_t specialLanes = 0;
    uint64_t runsLanes = 0;                  // lanes of the levels that it runs
    uint64_t batches = 0;                    // number of batches that this worker has submitted
    uint64_t taskIdNext = 0, taskIdEnd = 0;  // numbers of tasks for its submissions (trace.h)
    // The ticks of the last event, if that was the end of a task; otherwise 0. If there is a
    // recorder and no hook, this end is not recorded yet: `keptEnd` has the rest of it.
    uint64_t endedAt = 0;
    KeptEnd keptEnd;
    env::OffCpuWatch offCpu;  // used only if events are traced
    Aging aging;
    // A fiber has yielded: a task that has not begun comes next.
    bool taskBeforeReady = false;
    Priority yielded = Priority::Normal;  // the priority of that fiber
    bool pinnedNext = false;              // see AlternateFibers in find/find_work.cpp
    // The worker will look for work right away. So one fiber that becomes ready wakes no other
    // worker.
    bool willPollNext = false;
    bool mustNotSubmit = false;            // a hook runs where the worker may be between two tasks
    bool inHook = false;                   // a hook or onReport runs: it must not wait
    const NoSuspend *noSuspend = nullptr;  // the innermost scope of the running task, or null
    bool inactive = false;                 // see TaskScheduler::SetActiveWorkers
    uint8_t group = 0;  // index; 0 for an attached thread, which uses it only for notices
    // For each Meanwhile: the number of waits with it on this worker. AnyTask is not counted.
    uint32_t restricting[5] = {};
    // The waits let the worker begin tasks of this many priorities, from High on. 0: a wait with
    // OwnTasks.
    uint32_t mayBegin = kPriorities;
    // While `own` is not null: when to look through all queues (find/own_tasks.h), in ns.
    uint64_t digAt = 0;
    uint64_t digInterval = 0;
    OwnWait *own = nullptr;  // the innermost wait with OwnTasks
    // Its counter, or null. A hint for those who submit tasks of the counter; never dereferenced.
    env::Atomic<const Counter *> awaits{nullptr};
    bool searching = false;  // counted as a searcher
    // A fiber has become ready, and no worker was woken for it. If this worker takes something
    // else, it wakes another one.
    bool wakePending = false;
    uint32_t victim = 0;  // the worker from which the last steal took something
    // Number of sleepers that this worker has to wake, see WakeWanted. Written by the thread that
    // wakes it.
    uint32_t toWake = 0;
    // How long the worker leaves other workers' tasks alone, and their ready fibers.
    KeepsAway fromTasks;
    KeepsAway fromFibers;
    // When the worker took a ready fiber of another one, in ticks. 0: no visit, see
    // find/steal_backoff.h.
    uint64_t visitBegan = 0;
    uint64_t visitSuspensions = 0;  // `suspensions` at that time
    uint64_t lookAgainAt = 0;       // ticks: it does not look at other workers before
    uint64_t lookInterval = 1;      // ticks
    uint64_t activitySeen = 0;      // activity of other workers at the last look
    uint64_t activityChangedAt = 0;
    uint64_t floatingPoint = 0;  // the thread's control words, with which tasks begin
    // Both were taken from the inbox, oldest first.
    InboxQueue pinnedFibers[kPriorities];
    InboxQueue pinnedTasks[kPriorities];
    // The worker has gone to sleep with pinned tasks for which it has no fiber. relaxed: published
    // by the announcement.
    env::Atomic<bool> keepsTasks{false};
    // Scheduler::rescues before the last Rescue, see find/rescue.h
    uint32_t rescuesSeen[kClasses] = {};
    uint64_t pinnedTaken[kPriorities] = {};  // number of items taken from the queues above
    uint32_t pinnedCount = 0;                // number of items in the queues above
    bool wantsLarge = false;                 // the worker is counted in Scheduler::pinnedLarge
    TaskSlab slab;
    // The thread's own stack; of an attached thread, its reserve stack.
    Fiber threadFiber;
    env::Thread thread;
    env::SignalStack signalStack;
    env::ExitCall exitCall;  // for an attached thread
    // For threads of the host: what env::ThreadSlot() was before.
    void *outerSlot = nullptr;
    env::Atomic<bool> hasThread{false};  // only with SchedulerOptions::hostThreads

    // Written by the owner, read by all. The numbers of tasks submitted and finished here. The sums
    // over all workers say whether tasks are pending.
    alignas(kLineBytes) env::Atomic<uint64_t> submitted{0};
    env::Atomic<uint64_t> finished{0};
    // A wait keeps the worker from some or all tasks. relaxed: a hint, see find/own_tasks.h.
    env::Atomic<bool> restricted{false};
    // The worker has claimed tasks that it has not begun. relaxed: a hint for workers that ask for
    // them.
    env::Atomic<bool> hides{false};
    env::Atomic<uint32_t> runs{0};  // levels that it runs, as bits, see groups.h
    // For weft/inspect.h alone, so not env::Atomic: how often the worker took something of another
    // one, ran tasks on top of a waiting one, slept, and woke a sleeper.
    std::atomic<uint64_t> steals{0};
    std::atomic<uint64_t> inlineRuns{0};
    // Tasks that ran on top of their submitter without being submitted (SubmitAndWait).
    std::atomic<uint64_t> directTasks{0};
    std::atomic<uint64_t> sleeps{0};
    std::atomic<uint64_t> wakes{0};

    // Shared.
    alignas(kLineBytes) PushList<InboxItem> inbox;  // what only this worker may run
    // Stack classes, as bits: another worker has found a task that only this worker may hand to a
    // waiter, see find/rescue.h.
    env::Atomic<uint32_t> rescuesAsked{0};
    // A worker that has found no work asks for the tasks that this one has claimed and not begun.
    env::Atomic<bool> asked{false};
    // See Lent. relaxed: a hint, except where a notice is hidden.
    env::Atomic<uint64_t> lends{0};
    env::Parker parker;
    WorkStealingDeque<TaskEntry> lanes[kLanes];  // by LaneOf
    WorkStealingDeque<uint64_t> ready[kLevels];  // indices of ready fibers
    QueueAge ages[kQueues];                      // of the lanes, then of the ready fibers

    // Attached threads only.
    env::Atomic<uint32_t> accepts{0};  // not 0: tasks may be pinned to this worker
    // Pinned tasks that have not finished, and waits that must end on this worker.
    Counter bound;
};

/// Owner only. Returns true if a lane of this worker, or its ready fibers of a level, hold
/// something. A thief may take it meanwhile.
template <class Bits, class Item>
WEFT_FORCEINLINE bool HoldsIn(Bits &mayHold, uint32_t index,
                              const WorkStealingDeque<Item> &items) noexcept {
    const Bits bit = Bits{1} << index;
    if ((mayHold & bit) == 0) return false;
    if (!items.LooksEmpty()) return true;
    mayHold &= ~bit;
    return false;
}
inline bool HoldsTasks(const Worker *worker) noexcept { return worker->mayHold != 0; }  // a hint
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

/// Call it when nothing is claimed: other workers have got the tasks that they asked for. The load
/// is relaxed: a hint. The exchange is seq_cst: it comes before the worker claims again.
inline void AnswerAsk(Worker *worker) noexcept {
    if (worker->asked.load(kRelaxed)) worker->asked.exchange(false, kSeqCst);
}

/// Adds to a number of the worker that other threads read only to show it. Owner only. relaxed:
/// nothing depends on the number.
template <class Number>
WEFT_FORCEINLINE void AddTo(Number &number, uint64_t n) noexcept {
    number.store(number.load(kRelaxed) + n, kRelaxed);
}

/// Returns the calling thread's worker, or null. The result is stale after anything that may switch
/// fibers. Use fiber->worker then.
inline Worker *CurrentWorker() noexcept { return static_cast<Worker *>(env::ThreadSlot()); }

/// Call it when the worker's fiber is about to be suspended, or runs no more tasks of the counter
/// that it waits for.
inline void StopLending(Worker *worker) noexcept {
    // relaxed: written by the owner alone, and a hint for others
    if (WEFT_UNLIKELY(worker->lends.load(kRelaxed) != 0)) worker->lends.store(0, kRelaxed);
}

}  // namespace weft::internal
