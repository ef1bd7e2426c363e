// The table of weft_debug_root. All of it is constant-initialised: it costs nothing at start, and
// is there before main.
#include "scheduler/state/debug_root.h"

#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"
#include "weft/version.h"

#include <cstddef>
#include <iterator>

// offsetof of a class with private members or a base is right with all compilers that weft knows.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#endif

namespace weft::internal {

/// Friend of the classes with private members that debuggers read.
struct DebugLayout {
    using Tasks = WorkStealingDeque<TaskEntry>;
    // The pools differ in their items. Each is described like this one; maxItems has its limit.
    using Threads = SegmentPool<ThreadWaiter>;
    static constexpr CounterWord kZero{0};
    static constexpr const void *kSchedulers = SchedulerTag::s_entries;
    static constexpr uint32_t kSchedulersCount = std::size(SchedulerTag::s_entries);
    static NamedValue s_fields[];
};

#define WEFT_FIELD(name, type, member) \
    { name, offsetof(type, member) }

NamedValue DebugLayout::s_fields[] = {
    // ---- the table of schedulers ----
    {"tag.size", sizeof(SchedulerTag::Entry)},
    WEFT_FIELD("tag.scheduler", SchedulerTag::Entry, scheduler),

    // ---- a scheduler ----
    {"scheduler.size", sizeof(Scheduler)},
    WEFT_FIELD("scheduler.taskScheduler", Scheduler, taskScheduler),
    WEFT_FIELD("scheduler.workerCount", Scheduler, workerCount),
    WEFT_FIELD("scheduler.slotCount", Scheduler, slotCount),
    WEFT_FIELD("scheduler.slotsInUse", Scheduler, slotsInUse),
    WEFT_FIELD("scheduler.workers", Scheduler, workers),
    WEFT_FIELD("scheduler.fibers", Scheduler, fibers),
    WEFT_FIELD("scheduler.smallFibers", Scheduler, options.smallFibers),
    WEFT_FIELD("scheduler.largeFibers", Scheduler, options.largeFibers),
    WEFT_FIELD("scheduler.deferred", Scheduler, deferred),
    WEFT_FIELD("scheduler.externalSubmitted", Scheduler, externalSubmitted),
    WEFT_FIELD("scheduler.guests", Scheduler, guests),
    WEFT_FIELD("scheduler.endWanted", Scheduler, endWanted),
    WEFT_FIELD("scheduler.stopping", Scheduler, stopping),
    WEFT_FIELD("scheduler.injector", Scheduler, injector.m_head),
    WEFT_FIELD("scheduler.timers", Scheduler, timers.m_heap.m_top),
    // words of bits, bits.wordSize apart
    WEFT_FIELD("scheduler.freeSmall", Scheduler, pool.m_freeSmall.m_words),
    WEFT_FIELD("scheduler.freeLarge", Scheduler, pool.m_freeLarge.m_words),
    WEFT_FIELD("scheduler.asleep", Scheduler, idle.m_asleep.m_words),
    WEFT_FIELD("scheduler.starvedAsleep", Scheduler, idle.m_starvedAsleep.m_words),
    WEFT_FIELD("scheduler.restrictedAsleep", Scheduler, idle.m_restrictedAsleep.m_words),
    WEFT_FIELD("scheduler.ownAsleep", Scheduler, idle.m_ownAsleep.m_words),
    WEFT_FIELD("scheduler.namedAsleep", Scheduler, idle.m_namedAsleep.m_words),
    // the free fibers that workers keep: workerCount caches
    WEFT_FIELD("scheduler.caches", Scheduler, pool.m_caches),
    // wait record i belongs to fiber i; those behind the fibers are in the pool of spares
    WEFT_FIELD("scheduler.records", Scheduler, counters.m_records.m_own),
    WEFT_FIELD("scheduler.recordCount", Scheduler, counters.m_records.m_fibers),
    WEFT_FIELD("scheduler.spares", Scheduler, counters.m_records.m_spares.m_pool),
    WEFT_FIELD("scheduler.singles", Scheduler, singles.m_pool),
    WEFT_FIELD("scheduler.batches", Scheduler, batches),
    WEFT_FIELD("scheduler.threadWaiters", Scheduler, threadWaiters),
    WEFT_FIELD("scheduler.anyWaits", Scheduler, anyWaits.m_pool),
    WEFT_FIELD("scheduler.timedTasks", Scheduler, timedTasks.m_pool),
    {"spares.maxItems", WaitRecords::kMaxSpares},
    {"singles.maxItems", TaskBlockPool<1>::kMaxItems},
    {"batches.maxItems", decltype(Scheduler::batches)::kMaxItems},
    {"threadWaiters.maxItems", Threads::kMaxItems},
    {"anyWaits.maxItems", decltype(Scheduler::anyWaits)::kMaxItems},
    {"timedTasks.maxItems", decltype(Scheduler::timedTasks)::kMaxItems},
    // from the TaskScheduler on: the number of ExternalWork objects
    {"taskScheduler.outside", EntryGate::StateOffset() + offsetof(SchedulerState, outside)},

    // ---- a worker ----
    {"worker.size", sizeof(Worker)},
    WEFT_FIELD("worker.index", Worker, index),
    WEFT_FIELD("worker.current", Worker, current),
    WEFT_FIELD("worker.threadFiber", Worker, threadFiber),
    // begins with the system's handle, which is 0 for a thread that weft has not started
    WEFT_FIELD("worker.thread", Worker, thread),
    WEFT_FIELD("worker.searching", Worker, searching),
    WEFT_FIELD("worker.inactive", Worker, inactive),
    WEFT_FIELD("worker.inHook", Worker, inHook),
    WEFT_FIELD("worker.group", Worker, group),
    WEFT_FIELD("worker.restricted", Worker, restricted),
    WEFT_FIELD("worker.submitted", Worker, submitted),
    WEFT_FIELD("worker.finished", Worker, finished),
    WEFT_FIELD("worker.suspensions", Worker, suspensions),
    WEFT_FIELD("worker.pump", Worker, pump),
    WEFT_FIELD("worker.inbox", Worker, inbox.m_head),
    WEFT_FIELD("worker.pinnedFibers", Worker, pinnedFibers),
    WEFT_FIELD("worker.pinnedTasks", Worker, pinnedTasks),
    {"worker.pinnedQueues", kPriorities},
    WEFT_FIELD("worker.lanes", Worker, lanes),
    {"worker.laneCount", kLanes},
    {"worker.lanesPerLevel", kClasses},
    WEFT_FIELD("worker.ready", Worker, ready),
    {"worker.readyCount", kLevels},
    WEFT_FIELD("worker.claim.next", Worker, claim.next),
    WEFT_FIELD("worker.claim.end", Worker, claim.end),
    WEFT_FIELD("worker.claim.counter", Worker, claim.counter),
    WEFT_FIELD("worker.claim.name", Worker, claim.name),
    WEFT_FIELD("worker.pending.counter", Worker, pending.counter),
    WEFT_FIELD("worker.pending.finished", Worker, pending.finished),
    WEFT_FIELD("worker.pending.units", Worker, pending.units),
    WEFT_FIELD("pump.fiber", Pump, fiber),
    WEFT_FIELD("pump.outer", Pump, outer),

    // ---- a fiber ----
    {"fiber.size", sizeof(Fiber)},
    WEFT_FIELD("fiber.index", Fiber, index),
    WEFT_FIELD("fiber.worker", Fiber, worker),
    WEFT_FIELD("fiber.pinnedTo", Fiber, pinnedTo),
    WEFT_FIELD("fiber.waitTarget", Fiber, waitTarget),
    WEFT_FIELD("fiber.level", Fiber, level),  // one byte: the priority below level.set
    WEFT_FIELD("fiber.carries", Fiber, carries),
    WEFT_FIELD("fiber.taskName", Fiber, taskName),
    WEFT_FIELD("fiber.taskCounter", Fiber, taskCounter),
    WEFT_FIELD("fiber.frames", Fiber, waits),
    WEFT_FIELD("fiber.waitsFor", Fiber, waitsFor),
    WEFT_FIELD("fiber.waitsForIdle", Fiber, waitsForIdle),
    WEFT_FIELD("fiber.isReady", Fiber, isReady),  // the wait is over
    WEFT_FIELD("fiber.stackBottom", Fiber, m_stackBottom),
    WEFT_FIELD("fiber.stackBytes", Fiber, m_stackBytes),
    WEFT_FIELD("fiber.handle", Fiber, context.m_handle),  // null while the fiber runs
    WEFT_FIELD("fiber.isNew", Fiber, context.m_isNew),
    // Pointers to locks, null without SchedulerOptions::lockHolders: the one that the task waits
    // for, and those that it holds. Null among the held ones: a place that is not in use.
    WEFT_FIELD("fiber.awaitedLock", Fiber, locks.awaited),
    WEFT_FIELD("fiber.heldLocks", Fiber, locks.m_locks),
    {"fiber.heldLocksCount", HeldLocks::kMax},
    WEFT_FIELD("frame.counter", WaitFrame, counter),
    WEFT_FIELD("frame.outer", WaitFrame, outer),
    {"level.set", 1u << Level::kPriorityBits},

    // ---- queues ----
    {"deque.size", sizeof(Tasks)},
    WEFT_FIELD("deque.top", Tasks, m_top),
    WEFT_FIELD("deque.bottom", Tasks, m_bottom),
    WEFT_FIELD("deque.ring", Tasks, m_ring),
    WEFT_FIELD("ring.capacity", Tasks::Ring, capacity),
    {"ring.items", sizeof(Tasks::Ring)},
    {"entry.size", sizeof(TaskEntry)},
    WEFT_FIELD("entry.function", TaskEntry, m_first),
    WEFT_FIELD("entry.count", TaskEntry, m_second),
    WEFT_FIELD("entry.counter", TaskEntry, m_counter),
    WEFT_FIELD("entry.name", TaskEntry, m_name),
    {"entry.idMask", TaskEntry::kIdByte},  // not part of a pointer
    {"entry.slice", TaskEntry::kSlice},    // flags in the counter
    {"entry.flags", TaskEntry::kSlice | TaskEntry::kLarge | TaskCounter::kGroup},
    {"entry.countMask", (1u << TaskEntry::kCountBits) - 1},
    {"task.size", sizeof(Task)},
    WEFT_FIELD("item.next", InboxItem, next),
    WEFT_FIELD("item.kind", InboxItem, kind),
    {"item.fiber", static_cast<uint64_t>(InboxItem::Kind::Fiber)},
    {"inboxQueue.size", sizeof(InboxQueue)},
    WEFT_FIELD("inboxQueue.first", InboxQueue, first),
    WEFT_FIELD("block.deferral", TaskBlock, deferral),
    {"block.withdrawn", static_cast<uint64_t>(Deferral::Withdrawn)},
    WEFT_FIELD("block.count", TaskBlock, count),
    WEFT_FIELD("block.taken", TaskBlock, taken),
    WEFT_FIELD("block.counter", TaskBlock, counter),
    WEFT_FIELD("block.name", TaskBlock, label.name),
    WEFT_FIELD("block.worker", TaskBlock, worker),
    {"block.size", sizeof(TaskBlockOf<1>)},  // in Scheduler::singles
    {"batch.size", sizeof(DeferredBatch)},
    WEFT_FIELD("batch.state", DeferredBatch, state),
    {"batch.withdrawn", DeferredBatch::kWithdrawn},
    WEFT_FIELD("batch.count", DeferredBatch, count),
    WEFT_FIELD("batch.oldest", DeferredBatch, oldest),

    // ---- counters and waits ----
    {"counter.one", kZero.WithCount(1).bits},
    {"counter.headOne", kZero.WithHead(1).bits},
    {"counter.headMask", CounterWord::kMaxRecords},
    {"counter.sorting", kZero.WithSorting(true).bits},
    {"counter.eager", kZero.WithEager(true).bits},
    {"record.size", sizeof(WaitRecord)},
    WEFT_FIELD("record.next", WaitRecord, next),
    WEFT_FIELD("record.value", WaitRecord, value),
    WEFT_FIELD("record.owner", WaitRecord, owner),
    WEFT_FIELD("record.kind", WaitRecord, kind),
    {"record.waiter", static_cast<uint64_t>(WaitRecord::Kind::Waiter)},
    // the owner of a record: a fiber's index, or an index with one of these bits, the highest first
    {"owner.thread", kThreadOwner},
    {"owner.any", kAnyOwner},
    {"owner.task", kTaskOwner},
    {"owner.batch", kBatchOwner},  // together with owner.task
    {"owner.anyCounters", kAnyCounters},
    {"threadWaiter.size", sizeof(ThreadWaiter)},
    WEFT_FIELD("threadWaiter.waitsFor", ThreadWaiter, waitsFor),
    {"anyWait.size", sizeof(AnyWait)},
    WEFT_FIELD("anyWait.done", AnyWait, done),
    WEFT_FIELD("anyWait.counters", AnyWait, counters),
    WEFT_FIELD("anyWait.asked", AnyWait, asked),
    {"timedTask.size", sizeof(TimedTask)},
    WEFT_FIELD("timedTask.isSet", TimedTask, timer.isSet),
    WEFT_FIELD("timedTask.deadline", TimedTask, timer.deadline),
    WEFT_FIELD("timedTask.block", TimedTask, block),
    WEFT_FIELD("timer.child", Timer, child),
    WEFT_FIELD("timer.next", Timer, next),
    WEFT_FIELD("timer.deadline", Timer, deadline),
    WEFT_FIELD("timer.owner", Timer, expiry.owner),

    // ---- containers ----
    {"bits.wordSize", sizeof(AtomicBitSet::Word)},
    {"cache.size", sizeof(FiberPool::Cache)},
    {"cache.slots", FiberPool::kCacheSlots},
    // a pool: segments of 64, 64, 128, 256 and so on items; null: not there yet
    WEFT_FIELD("pool.segments", Threads, m_segments),
    {"pool.segmentSize", sizeof(Threads::Segment)},
    WEFT_FIELD("pool.items", Threads::Segment, items),
    {"pool.firstItems", 64},
};

#undef WEFT_FIELD
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

const void *DebugRootOfProcess() noexcept { return &weft_debug_root; }

}  // namespace weft::internal

#define WEFT_TEXT_OF(number) #number
#define WEFT_TEXT(number) WEFT_TEXT_OF(number)
#define WEFT_VERSION_TEXT         \
    WEFT_TEXT(WEFT_VERSION_MAJOR) \
    "." WEFT_TEXT(WEFT_VERSION_MINOR) "." WEFT_TEXT(WEFT_VERSION_PATCH)

#if defined(__GNUC__)
__attribute__((used))
#endif
weft::internal::DebugRoot weft_debug_root = {
    "weft debug root",
    1,
    sizeof(void *),
    &weft_debug_root,
    WEFT_VERSION_TEXT,
    sizeof(weft::internal::NamedValue),
    std::size(weft::internal::DebugLayout::s_fields),
    weft::internal::DebugLayout::s_fields,
    &weft::internal::g_contextLayout,
    weft::internal::g_savedRegisters,
    weft::internal::kSavedRegisterCount,
    weft::internal::DebugLayout::kSchedulersCount,
    weft::internal::DebugLayout::kSchedulers,
};

#undef WEFT_VERSION_TEXT
#undef WEFT_TEXT
#undef WEFT_TEXT_OF
