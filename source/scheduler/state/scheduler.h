// The scheduler: what all its workers share. This is data only. The functions are in other files of
// scheduler/.
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
#include "core/trace_rings.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "platform/stack_memory.h"
#include "scheduler/state/fiber.h"
#include "scheduler/state/order.h"
#include "scheduler/state/tuning.h"
#include "scheduler/state/worker.h"
#include "weft/closure.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// Where an external thread sleeps while it waits for a counter. The owner of its wait record is
/// kThreadOwner + its index in Scheduler::threadWaiters.
struct ThreadWaiter {
    env::Parker parker;
    env::Atomic<const Counter *> waitsFor{nullptr};  // relaxed: for reports
};
inline constexpr uint32_t kThreadOwner = 1u << 31;

/// A wait for the first of several counters, or a wait with a deadline. The owner of a wait record
/// is made of its index in Scheduler::anyWaits and the number of the counter (OwnerOf in
/// submit/notify.h).
struct AnyWait {
    env::Atomic<uint32_t> references{0};  // wait records, the timer, and the waiter itself
    // Number of the counter that was satisfied first. ~0: none yet.
    env::Atomic<uint32_t> first{~0u};
    Counter done{0};  // the waiter waits for this counter
    // Number of counters on which the waiter has tried to put a record. Used by the waiter alone.
    uint32_t asked = 0;
    // The waiter's array of these counters, and of those after them. For debuggers.
    Counter *const *counters = nullptr;
    // The wait is for zero of one counter, so rescue.h may hand it a task. Published with the
    // record.
    bool isOne = false;
};
inline constexpr uint32_t kAnyOwner = 1u << 30;
inline constexpr uint32_t kMaxOfAny = 4096;  // largest number of counters in one call
// Numbers that a counter of a wait can have. The deadline of the wait also has a number.
inline constexpr uint32_t kAnyCounters = 1u << 13;

/// A deferred task that waits for a counter: the owner of its wait record is kTaskOwner + the index
/// of its block in Scheduler::singles.
inline constexpr uint32_t kTaskOwner = 1u << 29;  // only if kAnyOwner is not set

/// A batch that waits for several counters, or for a point in time: the owner of each of its wait
/// records is kTaskOwner + kBatchOwner + its index in Scheduler::batches. The tasks lie in blocks,
/// see wait/deferred.h.
struct DeferredBatch {
    static constexpr uint64_t kLeft = (uint64_t{1} << 31) - 1;
    static constexpr uint64_t kWithdrawn = uint64_t{1} << 31;
    static constexpr uint32_t kGenerationShift = 32;
    // From the lowest bit: how many things the batch waits for, kWithdrawn, and a number that
    // changes with each use of this object. The call that submits the batch counts as one thing.
    env::Atomic<uint64_t> state{0};
    // The counter of the tasks. Null as soon as they are withdrawn.
    env::Atomic<Counter *> counter{nullptr};
    uint32_t count = 0;  // number of tasks
    bool isTimed = false;
    // The counter may be gone although a wait record of the batch is still there.
    bool mayBeWithdrawn = false;
    bool isKept = false;          // StopFor must not withdraw it
    TaskBlock *oldest = nullptr;  // the first block; `next` is the one after it, then null
    Timer timer;
};
inline constexpr uint32_t kBatchOwner = 1u << 28;  // only together with kTaskOwner

/// The first argument of Expiry::call: the scheduler and the worker that has found that a deadline
/// is due.
struct ExpiryContext {
    Scheduler &scheduler;
    Worker *worker;
};

/// A task that will be submitted at a point in time, see wait/deferred.h.
struct TimedTask {
    Timer timer;
    TaskBlock *block = nullptr;
    uint32_t index = 0;   // index in its pool
    bool isKept = false;  // StopFor must not withdraw it
};

/// The kind of a stall: no small or large fiber is free, or all work that is left waits.
enum class Stall : uint8_t { None, Small, Large /* fibers */, Waiters };

/// The search for stalls, see find/stall.h. The plain members belong to the worker that checks.
struct StallWatch {
    // Workers that have asked for a check. The first one checks for all of them.
    env::Atomic<uint32_t> callers{0};
    env::Atomic<bool> isSet{false};  // the timer is set
    env::Atomic<bool> isDue{false};  // the timer has expired
    Stall kind = Stall::None;
    uint64_t progress = 0;
    // When the stall began, in ns.
    uint64_t since = 0;
    Timer timer;
};

/// What happens when the end of the run takes long, see run/ending.h. The plain members belong
/// to the thread that ends the run, then to the one that handles the timer.
struct LateEnd {
    Timer timer;
    uint64_t wantedAt = 0;
    uint64_t withdrawsAt = Timers::kNever;
    bool hasWithdrawn = false;
    env::Atomic<bool> isLate{false};     // to be reported as soon as all workers sleep
    env::Atomic<bool> withdraws{false};  // tasks that wait for a counter or a time are refused
};

/// The thread for SchedulerOptions::watchdogMilliseconds, see run/watchdog.h.
struct Watchdog {
    env::Thread thread;
    env::Parker parker;
    env::Atomic<bool> ends{false};
    bool isRunning = false;
};

/// A call of WaitIdle.
struct IdleRequest {
    IdleRequest *next = nullptr;
    Counter counter{1};
    // The caller is a task.
    bool isTask = false;
};

/// Where a closure lies until its task has run it.
struct alignas(64) ClosureBlock {
    unsigned char room[kClosureBytes];  // the first member: the task's argument is its address
    TaskFunction run;                   // the task's function
    uint32_t index;                     // index in its pool
};
static_assert(sizeof(ClosureBlock) == 64 && alignof(ClosureBlock) >= kClosureAlignment,
              "each block must be one cache line");

/// A pool of task blocks. It holds up to 33 million, so in practice only memory limits it.
template <uint32_t kTasks>
using TaskBlockPool = CachedPool<TaskBlockOf<kTasks>, 20>;

/// One run of a TaskScheduler. It is created when Run or Start begins, and deleted when the run has
/// ended.
struct Scheduler {
    TaskScheduler *taskScheduler = nullptr;
    const void *debugRoot = nullptr;  // see debug_root.h
    SchedulerOptions options;
    Memory memory;              // with the memory hooks of the options
    uint64_t *masks = nullptr;  // a copy of Affinity::masks
    env::ForkMark forkMark;     // holds `taskScheduler`; null in a child process
    // Points to options.trace. Null if there is no trace hook, no recorder and no stack meter.
    const TraceHooks *trace = nullptr;
    TraceRings *recording = nullptr;  // of options.recorder
    uint32_t workerCount = 0;         // threads of weft, and the caller of Run
    uint32_t slotCount = 0;           // the workers, and the slots for attached threads
    Tuning tuning{};
    // The CPU of the thread that starts the workers. -1: workers begin where the system puts them.
    int32_t startCpu = -1;
    uint64_t floatingPoint = 0;  // the control words with which threads of weft begin

    Worker *workers = nullptr;  // attached threads have the indices from workerCount on
    // The fibers of the pool, then one for each attached thread's own stack.
    Fiber *fibers = nullptr;
    StackMemory smallStacks;
    StackMemory largeStacks;
    StackMemory reserveStacks;  // an attached thread uses one in place of a thread stack
    FiberPool pool;
    IdleSet idle;
    SchedulerTag tag;
    const uint32_t runNumber = NewRunNumber();  // of DeferredHandle
    CounterWaiting counters;
    PushList<InboxItem> injector;  // what any worker may take
    TaskBlockPool<1> singles;
    TaskBlockPool<kTasksPerBlock> blocks;
    SegmentPool<ThreadWaiter> threadWaiters;
    CachedPool<AnyWait, 12> anyWaits;       // 131,072
    AtomicBitSet freeSlots;                 // slots that AttachThread may use
    CachedPool<TimedTask, 17> timedTasks;   // 4 million
    CachedPool<ClosureBlock, 20> closures;  // 33 million
    SpinLock climbs;                        // see find/own_tasks.h
    env::Atomic<uint32_t> deferred{0};      // tasks that wait for a counter, see wait/deferred.h
    Timers timers;
    // The deadline for which a sleeping worker will wake up, see submit/timing.h.
    env::Atomic<uint64_t> armedFor{Timers::kNever};

    alignas(kLineBytes) Notices notices;
    // Workers read the next members in each search that does not take the fast path. They are
    // seldom written.
    env::Atomic<uint32_t> slotsInUse{0};  // the largest number so far
    // The workers below this index are active. The others run only what is pinned to them.
    env::Atomic<uint32_t> activeWorkers{0};
    env::Atomic<uint32_t> setsInUse{1};  // sets of groups
    // For each level: the groups that run it, as bits. The last bit stands for attached threads.
    env::Atomic<uint16_t> groupsOf[kLevels]{};
    uint32_t groupCount = 1;
    uint32_t groupEnd[kMaxGroups]{};  // the workers of group i end below this index
    WorkerGroup groups[kMaxGroups];   // copies of SchedulerOptions::groups
    uint64_t *groupCpus = nullptr;    // copies of their CPU masks
    uint32_t groupCpuWords = 0;
    SpinLock groupsLock;
    // For each combination of groups, as bits: the number of its set, plus one. 0: it has none yet.
    env::Atomic<uint8_t> setOf[1u << kMaxGroups]{};
    // Counts waiters with room, and Large tasks, that came while a class had no free fiber, see
    // find/rescue.h.
    alignas(kLineBytes) env::Atomic<uint32_t> rescues{0};
    env::Atomic<uint32_t> pinnedLarge{0};  // workers with pinned tasks that need a large fiber
    env::Atomic<uint64_t> taskIds{1};      // the next number of a task, see state/trace.h
    PushList<IdleRequest> idleRequests;
    env::Atomic<uint32_t> idleTasks{0};  // tasks that are in WaitIdle, for reports
    // Calls of AnswerIdleRequests since one of them began to answer. 0: no thread is answering.
    env::Atomic<uint32_t> answering{0};

    // tasks submitted by external threads
    alignas(kLineBytes) env::Atomic<uint64_t> externalSubmitted{0};
    // Attached threads, and external threads that block in a wait. The run does not end before they
    // have left.
    env::Atomic<uint32_t> guests{0};
    Counter guestsLeft;  // the same number, for a Stop without workers
    Counter attached;    // number of attached threads
    // The main task has returned, or Stop was called.
    alignas(kLineBytes) env::Atomic<bool> endWanted{false};
    // From then on calls of external threads are refused, see external_call.h.
    env::Atomic<uint64_t> closesAt{Timers::kNever};
    LateEnd lateEnd;
    env::Atomic<bool> stopping{false};  // the run is over: every loop ends
    // The codes that ReportOnce has reported, as bits.
    env::Atomic<uint32_t> reported{0};
    StallWatch stall;
    Watchdog watchdog;
    bool handlesFaults = false;  // the handler for reportStackOverflow is installed
    // Set when all threads have been joined. A fiber that continues then ends at once, and this
    // context continues.
    FiberContext *ending = nullptr;

    Task main{nullptr, nullptr};
    alignas(kLineBytes) Order order;  // of SchedulerOptions::order
    // seldom used, so it stays behind everything that each task needs
    alignas(kLineBytes) SegmentPool<DeferredBatch, 13> batches;  // 262,144
    // Workers that no thread runs, see run/worker_thread.h. 0 unless the host provides the threads.
    env::Atomic<uint32_t> absent{0};
    env::Parker hostThreadLeft;  // of the thread that waits for them at the end

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
    /// Returns the slots of these groups with the indices 64 * word to 64 * word + 63, as bits.
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
    /// The number of levels (lanes) that may hold something: the first ones.
    uint32_t Levels() const noexcept { return setsInUse.load(kSeqCst) * kPriorities; }
    uint32_t Lanes() const noexcept { return Levels() * kClasses; }
    /// The number of slots that are worth a look. seq_cst: an attached thread raises it before it
    /// publishes anything.
    uint32_t Slots() const noexcept { return slotsInUse.load(kSeqCst); }
};

/// See CounterWaiting::AnyForValue. `counter` may be null.
inline bool AnyForValue(Scheduler &scheduler, Counter *counter) noexcept {
    return counter != nullptr && scheduler.counters.AnyForValue(CounterAccess::Word(*counter));
}

/// Returns the number of the caller's cache in the scheduler's pools. `worker`: the caller's, or
/// null.
inline uint32_t CacheOf(const Worker *worker) noexcept {
    return worker != nullptr ? worker->index : kNoCache;
}

/// Returns true if the worker's own lanes hold a task of the level. seq_cst.
inline bool HasTaskOf(const Worker &worker, Level level) noexcept {
    return worker.lanes[LaneOf(level, StackClass::Small)].Size() != 0 ||
           worker.lanes[LaneOf(level, StackClass::Large)].Size() != 0;
}

/// Returns true if the worker's own lanes hold a Large task.
inline bool HasLargeTask(const Worker &worker) noexcept {
    const uint32_t levels = worker.scheduler->Levels();
    for (uint32_t level = 0; level < levels; ++level) {
        if (worker.lanes[LaneOf(LevelAt(level), StackClass::Large)].Size() != 0) return true;
    }
    return false;
}

/// Returns the number of submitted tasks that have not finished, including those that wait. Exact
/// only if no task runs: then 0 means that nothing is pending, and that only external threads can
/// submit more.
uint64_t PendingTasks(const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
