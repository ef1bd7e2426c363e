// The scheduler: what all its workers share.
#pragma once

#include "containers/atomic_bit_set.h"
#include "containers/cached_pool.h"
#include "containers/push_list.h"
#include "containers/segment_pool.h"
#include "containers/spin_lock.h"
#include "core/counters.h"
#include "core/idle.h"
#include "core/notices.h"
#include "core/scheduler_tags.h"
#include "core/timers.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "platform/stack_memory.h"
#include "scheduler/state/debug_root.h"
#include "scheduler/state/fibers.h"
#include "scheduler/state/worker.h"
#include "weft/closure.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

struct Tracing;
struct Order;

/// Where a closure lies until its task has run it.
struct alignas(64) ClosureBlock {
    unsigned char room[kClosureBytes];  // the first member: the task's argument is its address
    TaskFunction run;                   // the task's function
    uint32_t index;                     // index in its pool
};
static_assert(sizeof(ClosureBlock) == 64 && alignof(ClosureBlock) >= kClosureAlignment,
              "each block must be one cache line");

/// A wait of a task of another scheduler, on its stack: it is over when `told` is zero.
struct OtherTask {
    Scheduler *scheduler;
    Counter told{1};
};

/// Where a thread sleeps while it waits for a counter.
struct ThreadWaiter {
    env::Parker parker;
    OtherTask *task = nullptr;        // a task waits in place of a thread
    env::Atomic<bool> isTold{false};  // the wait is over, and the Unpark follows
    // For reports: what an external thread waits for; null if none does.
    std::atomic<const Counter *> waitsFor{nullptr};
    // For debuggers, if `waitsFor` is not null. See FiberWait.
    uint32_t target = 0;
    WaitKind kind = WaitKind::Counter;
    uint64_t deadline = 0;
};

/// A wait for one of several counters, on the stack of its caller. Each of the counters has a wait
/// record, whose owner is an AnyRecord.
struct AnyWait {
    static constexpr uint32_t kNone = ~0u;
    Counter *const *counters;  // these two: for debuggers
    uint64_t count;
    Counter first{1};  // zero: one of the counters was reached
    Counter all{0};    // records that are still on their counters, or on the way
    env::Atomic<uint32_t> winner{kNone};
};
struct AnyRecord {
    AnyWait *wait = nullptr;
    uint32_t which = 0;  // of the counters
};

/// The owner of a wait record or a timer. A fiber is named by its index. A ThreadWaiter, a Deferred
/// or an AnyRecord is named by one of these bits and its index in its pool. kEndOwner stands for
/// the end of the run.
inline constexpr uint32_t kThreadOwner = 1u << 31, kDeferredOwner = 1u << 30, kAnyOwner = 1u << 29;
inline constexpr uint32_t kEndOwner = kThreadOwner | kDeferredOwner;
inline constexpr uint32_t kOwnerKind = kThreadOwner | kDeferredOwner | kAnyOwner;

/// A call of WaitIdle.
struct IdleRequest {
    IdleRequest *next = nullptr;
    Counter counter{1};
    bool isTask = false;  // the caller is a task
};

/// What the checks for stalls remember (diagnose/stall.cpp).
struct StallWatch {
    SpinLock lock;
    uint64_t progress = ~uint64_t{0};  // at the last check
    uint64_t since = 0;                // since then nothing has run
    bool isJudged = false;             // since then a check has come to a result
    env::Atomic<uint32_t> round{0};    // the number of the latest round
    uint32_t roundsLeft = 0;           // before a judgement; 0: they have not begun
    struct Seen {                      // what holds in the rounds
        uint64_t next = 0;             // the earliest deadline
        uint64_t refused = 0;          // at the beginning
        bool anyDeadline = false;
        bool isQueued = false;
        bool passesOn = false;  // workers have no fiber for what they find
    } seen;
};

/// What is remembered about an end that takes long (diagnose/late_end.cpp).
struct LateEnd {
    Timer timer;  // of kEndOwner
    uint64_t wantedAt = 0;
    uint64_t withdrawsAt = Timers::kNever;  // then StopFor withdraws what has not begun
    env::Atomic<bool> isLate{false};        // the grace period is over, and nothing was reported
    env::Atomic<bool> withdraws{false};     // StopFor has begun to withdraw
    bool hasWithdrawn = false;
};

/// A thread that looks whether tasks end (diagnose/stall.cpp).
struct Watchdog {
    env::Thread thread;
    env::Parker parker;
    env::Atomic<bool> ends{false};
    bool isRunning = false;
};

/// What the threads of weft begin with.
struct ThreadSetup {
    int32_t startCpu = -1;      // the CPU of the thread that began the run, or -1
    uint64_t *masks = nullptr;  // copies of those of the options
    size_t maskWords = 0;
    uint64_t floatingPoint = 0;  // the control words
};

/// The fibers: those of the pool, then one for each attached thread's own stack.
struct FiberPool {
    Fiber *all = nullptr;
    uint32_t count = 0;  // in the pool
    FreeFibers free;
    StackMemory stacks;
    StackMemory reserveStacks;  // an attached thread uses one in place of a thread stack
    Fiber &operator[](uint32_t index) const noexcept { return all[index]; }
};

/// Chunks of tasks, closures, waiters and records.
struct Pools {
    CachedPool<ChunkOf<1>, 20> singles;
    CachedPool<ChunkOf<kChunkTasks>, 20> chunks;
    CachedPool<ChunkOf<kLargeChunkTasks>, 20, 16> largeChunks;
    CachedPool<ClosureBlock, 20> closures;
    SegmentPool<ThreadWaiter> threadWaiters;
    CachedPool<Deferred, 13> deferred;  // 262,144
    CachedPool<AnyRecord, 16> anyRecords;
    /// Calls trim(pool) for each pool of which no thread reads unused objects.
    template <class TrimIt>
    void ForTrimmed(TrimIt trim) noexcept {
        trim(singles), trim(chunks), trim(largeChunks), trim(closures);
    }
};

/// Threads of the host that a run waits for: it does not end before they have left.
struct Guests {
    env::Atomic<uint32_t> count{0};  // attached ones, and external ones that block in a wait
    Counter left;                    // the same number, for a Stop without workers
    Counter attached;                // number of attached threads
};

/// Durations, in ticks.
struct Tuning {
    uint64_t millisecond = 0;
    uint64_t shortPick = 0;  // as many as pass without a look at the clock take 100 us at most
};

/// One run of a TaskScheduler. It is created when Run or Start begins, and deleted when the run has
/// ended.
struct Scheduler {
    TaskScheduler *taskScheduler = nullptr;
    SchedulerOptions options;
    Memory memory;                   // with the memory hooks of the options
    env::ForkMark forkMark;          // holds `taskScheduler`; null in a child process
    uint32_t workerCount = 0;        // threads of weft, and the caller of Run
    uint32_t slotCount = 0;          // the workers, and the slots for attached threads
    WorkerGroup groups[kMaxGroups];  // those of the options
    Tuning tuning;
    ThreadSetup threads;

    Worker *workers = nullptr;
    FiberPool fibers;
    AtomicBitSet freeSlots;  // slots that AttachThread may use
    SchedulerTag tag;
    const uint32_t runNumber = NewRunNumber();  // of DeferredHandle
    Counters counters;
    Pools pools;
    Timers timers;
    env::Atomic<uint64_t> keeperUntil{Timers::kNever};  // when it wakes up: run/idle_loop.cpp

    alignas(kLineBytes) Notices notices;
    Tracing *tracing = nullptr;  // null: nothing is traced (state/trace.h)
    Order *order = nullptr;      // null: the usual order (policy/ordered.h)
    // Workers read the next members between tasks. They are seldom written.
    env::Atomic<uint32_t> slotsInUse{0};  // the largest number so far
    env::Atomic<uint32_t> lowGroups{0};   // bit i: WorkerGroup::runsLow
    env::Atomic<uint32_t> activeWorkers{0};
    env::Atomic<uint32_t> changes{0};    // of what workers may run (SignalAll)
    env::Atomic<bool> stopping{false};   // the run is over: every loop ends
    env::Atomic<bool> endWanted{false};  // the main task has returned, or Stop was called
    env::Atomic<uint64_t> closesAt{Timers::kNever};  // later calls of external threads are refused
    Idle idle;

    alignas(kLineBytes) PushList<Node> injector;  // what any worker may take
    PushList<Node> behind[kLevels];  // rests of chunks, see PutBack in submit/finish.cpp

    alignas(kLineBytes) env::Atomic<uint64_t> submittedOutside{0};  // by external threads
    Guests guests;
    env::Atomic<uint32_t> absent{0};  // workers without a thread, see life/life.h
    env::Parker hostThreadLeft;       // of the thread that waits for them at the end
    PushList<IdleRequest> idleRequests;
    env::Atomic<uint32_t> answering{0};  // calls of AnswerIdleRequests since one began to answer
    env::Atomic<uint32_t> scopes{0};     // numbers for waits with OwnTasks
    env::Atomic<uint32_t> reported{0};   // the codes that ReportOnce has reported, as bits
    StallWatch stall;
    SpinLock trims;  // of TrimMemory
    LateEnd lateEnd;
    Watchdog watchdog;
    bool handlesFaults = false;  // the handler for reportStackOverflow is installed
    // Set when all threads have been joined. A fiber that continues then ends at once, and this
    // context continues.
    FiberContext *ending = nullptr;
    Task main{nullptr, nullptr};
    const void *const debugRoot = &weft_debug_root;  // linkers keep it

    bool IsAttachedSlot(uint32_t index) const noexcept { return index >= workerCount; }
    /// Returns true if a chunk was put behind all others. seq_cst.
    bool AnyBehind() const noexcept {
        return !std::all_of(behind, behind + kLevels, [](auto &list) { return list.IsEmpty(); });
    }
    uint32_t AllFibers() const noexcept { return fibers.count + (slotCount - workerCount); }
    /// The number of slots that are worth a look. seq_cst: an attached thread raises it before it
    /// publishes anything.
    uint32_t Slots() const noexcept { return slotsInUse.load(kSeqCst); }
};

/// Returns the number of the caller's cache in the scheduler's pools. `worker`: the caller's, or
/// null.
inline uint32_t CacheOf(const Worker *worker) noexcept {
    return worker != nullptr ? worker->index : kNoCache;
}

/// Returns the number of submitted tasks that have not finished, including those that wait. Exact
/// only if no task runs: then 0 means that nothing is pending, and that only external threads can
/// submit more. `of`: for reports Worker::ended, which leaves out tasks whose counters are about to
/// be lowered.
uint64_t PendingTasks(const Scheduler &scheduler,
                      env::Atomic<uint64_t> Worker::*of = &Worker::counted) noexcept;

/// The end of the run has been wanted for so long that the timer of `lateEnd` is due. See
/// diagnose/late_end.cpp.
void EndIsLate(Scheduler &scheduler, Worker &worker) noexcept;

}  // namespace weft::internal
