// The scheduler: the sum of its parts. Data only; the verbs are in the other files of this folder.
#pragma once

#include "containers/cached_pool.h"
#include "containers/push_list.h"
#include "containers/segment_pool.h"
#include "containers/spin_lock.h"
#include "core/counter_waiting.h"
#include "core/fiber_pool.h"
#include "core/idle_set.h"
#include "core/notices.h"
#include "core/scheduler_tags.h"
#include "core/timers.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "platform/stack_memory.h"
#include "scheduler/state/fiber.h"
#include "scheduler/state/tuning.h"
#include "scheduler/state/worker.h"
#include "weft/closure.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// Where a thread that is no worker sleeps while it waits. Its wait record's owner is kThreadOwner
/// + its place in the pool.
struct ThreadWaiter {
    env::Parker parker;
    env::Atomic<const Counter *> waitsFor{nullptr};  // for reports; relaxed
};
inline constexpr uint32_t kThreadOwner = 1u << 31;

/// A wait for whichever of several counters is zero first. Its wait records' owner is kAnyOwner +
/// its place in the pool + which counter.
struct AnyWait {
    env::Atomic<uint32_t> references{0};  // records on lists, and the waiter itself
    env::Atomic<uint32_t> first{~0u};     // which counter was zero first
    Counter done{0};                      // what the waiter waits for
    // counters that the waiter got to before one was zero; its own
    uint32_t asked = 0;
    // a wait for zero of one counter, with a deadline; published with the record
    bool isOne = false;
};
inline constexpr uint32_t kAnyOwner = 1u << 30;
inline constexpr uint32_t kMaxOfAny = 4096;  // counters in one call
// so many are told apart; a deadline is one more
inline constexpr uint32_t kAnyCounters = 1u << 13;

/// A task that waits for a counter: its wait record's owner is kTaskOwner + its block's place in
/// Scheduler::singles.
inline constexpr uint32_t kTaskOwner = 1u << 29;  // where kAnyOwner is not set

/// Who tells the owner of a deadline that it is due.
struct ExpiryContext {
    Scheduler &scheduler;
    Worker *worker;
};

/// A task that is submitted at a time, see deferred.h.
struct TimedTask {
    Timer timer;
    TaskBlock *block = nullptr;
    uint32_t place = 0;  // in its pool
};

enum class Stall : uint8_t { None, Small, Large /* fibers */, Waiters };

/// See stall.h. Of the one that looks, but for the atomics.
struct StallWatch {
    // workers that asked for a check; the first one checks for all
    env::Atomic<uint32_t> callers{0};
    env::Atomic<bool> isSet{false};  // the timer is set
    env::Atomic<bool> isDue{false};  // the timer has expired
    Stall kind = Stall::None;
    uint64_t progress = 0;
    uint64_t since = 0;
    Timer timer;
};

/// A call of WaitIdle.
struct IdleRequest {
    IdleRequest *next = nullptr;
    Counter counter{1};
    bool isTask = false;
};

/// Where a closure lies until its task has run it.
struct alignas(64) ClosureBlock {
    unsigned char room[kClosureBytes];  // first: its address is what the task is given
    uint32_t place;                     // in its pool
};
static_assert(sizeof(ClosureBlock) == 64 && alignof(ClosureBlock) >= kClosureAlignment,
              "one line of the cache each");

/// As many as there is memory for, practically: 33 million.
template <uint32_t kTasks>
using TaskBlockPool = CachedPool<TaskBlockOf<kTasks>, 20>;

struct Scheduler {
    TaskScheduler *taskScheduler = nullptr;
    SchedulerOptions options;
    Memory memory;                      // the options' hooks
    uint64_t *masks = nullptr;          // a copy of the options'
    env::ForkMark forkMark;             // keeps `taskScheduler`
    const TraceHooks *trace = nullptr;  // the options', if there is any
    uint32_t workerCount = 0;           // threads of ours and the caller of Run
    uint32_t slotCount = 0;             // places for attached threads with them
    Tuning tuning{};
    // of the thread that starts ours; -1: they begin wherever the system puts them
    int32_t startCpu = -1;
    uint64_t floatingPoint = 0;  // the control words that threads of ours begin with

    Worker *workers = nullptr;  // attached threads have the places from workerCount on
    Fiber *fibers = nullptr;    // those of the pool, then one for each attached thread's own stack
    StackMemory smallStacks;
    StackMemory largeStacks;
    StackMemory reserveStacks;  // attached threads' stand-ins for a thread stack
    FiberPool pool;
    IdleSet idle;
    SchedulerTag tag;
    CounterWaiting counters;
    PushList<InboxItem> injector;  // from threads that are no workers
    TaskBlockPool<1> singles;
    TaskBlockPool<kTasksPerBlock> blocks;
    SegmentPool<ThreadWaiter> threadWaiters;
    CachedPool<AnyWait, 12> anyWaits;       // 131,072
    AtomicBitSet freeSlots;                 // for AttachThread
    CachedPool<TimedTask, 17> timedTasks;   // 4 million
    CachedPool<ClosureBlock, 20> closures;  // 33 million
    SpinLock climbs;                        // see own_tasks.h
    env::Atomic<uint32_t> deferred{0};      // tasks that wait for a counter, see deferred.h
    Timers timers;
    // the deadline that a worker sleeps until, see timing.h
    env::Atomic<uint64_t> armedFor{Timers::kNever};

    alignas(kLineBytes) Notices notices;
    // Read at each pick that needs policy, and seldom written.
    env::Atomic<uint32_t> slotsInUse{0};  // the highest that ever was
    // of workerCount; the others run only what is pinned to them
    env::Atomic<uint32_t> activeWorkers{0};
    env::Atomic<uint32_t> setsInUse{1};  // of groups
    // that run a level, as bits; attached threads have the last one
    env::Atomic<uint16_t> groupsOf[kLevels]{};
    uint32_t groupCount = 1;
    uint32_t groupEnd[kMaxGroups]{};  // the workers of group i end below this index
    WorkerGroup groups[kMaxGroups];   // the options'
    uint64_t *groupCpus = nullptr;    // their masks
    uint32_t groupCpuWords = 0;
    SpinLock groupsLock;
    env::Atomic<uint8_t>
        // of groups, as bits: the number of the set and one; 0: it has none yet
        setOf[1u << kMaxGroups]{};
    alignas(kLineBytes) env::Atomic<uint32_t> rescues{
        // counts waiters that came while a class had no free fiber, see rescue.h
        0};
    env::Atomic<uint32_t> pinnedLarge{0};  // workers with pinned tasks that want a large fiber
    PushList<IdleRequest> idleRequests;
    env::Atomic<uint32_t> idleTasks{0};  // tasks that are in WaitIdle, for reports
    // 1 and more: somebody holds all idle requests; and so many came since
    env::Atomic<uint32_t> answering{0};

    // tasks, by threads that are no workers
    alignas(kLineBytes) env::Atomic<uint64_t> externalSubmitted{0};
    // attached threads and threads that are blocked in a wait: the end waits for them
    env::Atomic<uint32_t> guests{0};
    Counter guestsLeft;  // the same, for a Stop without workers
    Counter attached;    // threads
    // the main task has returned, or Stop was called
    alignas(kLineBytes) env::Atomic<bool> endWanted{false};
    // from then on threads that are no workers are refused, see gate.h
    env::Atomic<uint64_t> closesAt{Timers::kNever};
    Timer closing;                      // then who is still inside is told
    bool closingIsSet = false;          // by the one that looks for trouble
    env::Atomic<bool> stopping{false};  // it is over: every loop goes home
    // which of the reports that come once have come
    env::Atomic<uint32_t> reported{0};
    StallWatch stall;
    bool handlesFaults = false;  // reportStackOverflow
    // threads are joined: fibers that are switched to end, and go on here
    FiberContext *ending = nullptr;

    Task main{nullptr, nullptr};

    uint32_t FiberCount() const noexcept { return pool.Count(); }
    uint32_t AllFibers() const noexcept { return pool.Count() + (slotCount - workerCount); }
    bool IsAttachedSlot(uint32_t index) const noexcept { return index >= workerCount; }
    bool IsActive(uint32_t index) const noexcept {
        return IsAttachedSlot(index) || index < activeWorkers.load(kSeqCst) ||
               (groupCount > 1 && index == GroupBegin(workers[index].group));
    }
    uint32_t GroupBegin(uint32_t group) const noexcept {
        return group == 0 ? 0 : groupEnd[group - 1];
    }
    /// The workers and threads of these groups, as bits: those from 64 * word on.
    uint64_t SlotsOf(uint32_t ofGroups, uint32_t word) const noexcept {
        uint64_t bits = 0;
        for (; ofGroups != 0; ofGroups &= ofGroups - 1) {
            const uint32_t group = LowestBit(ofGroups);
            const uint32_t begin = group == kMaxGroups ? workerCount : GroupBegin(group);
            const uint32_t end = group == kMaxGroups ? slotCount : groupEnd[group];
            const uint32_t from = std::max(begin, word * 64), to = std::min(end, word * 64 + 64);
            if (from < to) bits |= ~uint64_t{0} >> (64 - (to - from)) << (from % 64);
        }
        return bits;
    }
    uint32_t AllGroups() const noexcept { return ((1u << groupCount) - 1) | 1u << kMaxGroups; }
    /// Lanes and levels that may hold something, from 0 on.
    uint32_t Levels() const noexcept { return setsInUse.load(kSeqCst) * kPriorities; }
    uint32_t Lanes() const noexcept { return Levels() * kClasses; }
    /// Those that are worth a look. seq_cst: an attached thread raises it before it publishes
    /// anything.
    uint32_t Slots() const noexcept { return slotsInUse.load(kSeqCst); }
};

/// See CounterWaiting::AnyForValue. `counter` may be null.
inline bool AnyForValue(Scheduler &scheduler, Counter *counter) noexcept {
    return counter != nullptr && scheduler.counters.AnyForValue(CounterAccess::Word(*counter));
}

/// The caller's cache in the scheduler's pools. `worker`: the caller's, or null.
inline uint32_t CacheOf(const Worker *worker) noexcept {
    return worker != nullptr ? worker->index : kNoCache;
}

/// In the worker's own lanes: any task of the level. seq_cst.
inline bool HasTaskOf(const Worker &worker, Level level) noexcept {
    return worker.lanes[LaneOf(level, StackClass::Small)].Size() != 0 ||
           worker.lanes[LaneOf(level, StackClass::Large)].Size() != 0;
}

/// In the worker's own lanes.
inline bool HasLargeTask(const Worker &worker) noexcept {
    const uint32_t levels = worker.scheduler->Levels();
    for (uint32_t level = 0; level < levels; ++level) {
        if (worker.lanes[LaneOf(LevelAt(level), StackClass::Large)].Size() != 0) return true;
    }
    return false;
}

/// Submitted tasks that have not finished; waiting ones are among them. Exact only if nothing runs:
/// then 0 means that nothing is pending and nothing can be added but by external threads.
uint64_t PendingTasks(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
