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

#define OFFSET(name, type, member) {name, offsetof(type, member)}

NamedValue DebugLayout::s_fields[] = {
    // ---- the table of schedulers ----
    {"tag.size", sizeof(SchedulerTag::Entry)},
    OFFSET("tag.scheduler", SchedulerTag::Entry, scheduler),

    // ---- a scheduler ----
    OFFSET("scheduler.taskScheduler", Scheduler, taskScheduler),
    OFFSET("scheduler.workerCount", Scheduler, workerCount),
    OFFSET("scheduler.slotCount", Scheduler, slotCount),
    OFFSET("scheduler.slotsInUse", Scheduler, slotsInUse),
    OFFSET("scheduler.workers", Scheduler, workers),
    OFFSET("scheduler.fibers", Scheduler, fibers),
    OFFSET("scheduler.smallFibers", Scheduler, options.smallFibers),
    OFFSET("scheduler.largeFibers", Scheduler, options.largeFibers),
    OFFSET("scheduler.deferred", Scheduler, deferred),
    OFFSET("scheduler.externalSubmitted", Scheduler, externalSubmitted),
    OFFSET("scheduler.guests", Scheduler, guests),
    OFFSET("scheduler.endWanted", Scheduler, endWanted),
    OFFSET("scheduler.stopping", Scheduler, stopping),
    OFFSET("scheduler.injector", Scheduler, injector.m_head),
    OFFSET("scheduler.timers", Scheduler, timers.m_heap.m_top),
    // words of bits, bits.wordSize apart
    OFFSET("scheduler.freeSmall", Scheduler, pool.m_freeSmall.m_words),
    OFFSET("scheduler.freeLarge", Scheduler, pool.m_freeLarge.m_words),
    OFFSET("scheduler.asleep", Scheduler, idle.m_asleep.m_words),
    OFFSET("scheduler.starvedAsleep", Scheduler, idle.m_starvedAsleep.m_words),
    OFFSET("scheduler.restrictedAsleep", Scheduler, idle.m_restrictedAsleep.m_words),
    OFFSET("scheduler.ownAsleep", Scheduler, idle.m_ownAsleep.m_words),
    OFFSET("scheduler.namedAsleep", Scheduler, idle.m_namedAsleep.m_words),
    // the free fibers that workers keep: workerCount caches
    OFFSET("scheduler.caches", Scheduler, pool.m_caches),
    // wait record i belongs to fiber i; those behind the fibers are in the pool of spares
    OFFSET("scheduler.records", Scheduler, counters.m_records.m_own),
    OFFSET("scheduler.recordCount", Scheduler, counters.m_records.m_fibers),
    OFFSET("scheduler.spares", Scheduler, counters.m_records.m_spares.m_pool),
    OFFSET("scheduler.singles", Scheduler, singles.m_pool),
    OFFSET("scheduler.threadWaiters", Scheduler, threadWaiters),
    OFFSET("scheduler.anyWaits", Scheduler, anyWaits.m_pool),
    OFFSET("scheduler.timedTasks", Scheduler, timedTasks.m_pool),
    {"spares.maxItems", WaitRecords::kMaxSpares},
    {"singles.maxItems", TaskBlockPool<1>::kMaxItems},
    {"threadWaiters.maxItems", Threads::kMaxItems},
    {"anyWaits.maxItems", decltype(Scheduler::anyWaits)::kMaxItems},
    {"timedTasks.maxItems", decltype(Scheduler::timedTasks)::kMaxItems},
    // from the TaskScheduler on: the number of ExternalWork objects
    {"taskScheduler.outside", EntryGate::StateOffset() + offsetof(SchedulerState, outside)},

    // ---- a worker ----
    {"worker.size", sizeof(Worker)},
    OFFSET("worker.index", Worker, index),
    OFFSET("worker.current", Worker, current),
    OFFSET("worker.threadFiber", Worker, threadFiber),
    // begins with the system's handle, which is 0 for a thread that weft has not started
    OFFSET("worker.thread", Worker, thread),
    OFFSET("worker.searching", Worker, searching),
    OFFSET("worker.inactive", Worker, inactive),
    OFFSET("worker.inHook", Worker, inHook),
    OFFSET("worker.group", Worker, group),
    OFFSET("worker.restricted", Worker, restricted),
    OFFSET("worker.submitted", Worker, submitted),
    OFFSET("worker.finished", Worker, finished),
    OFFSET("worker.suspensions", Worker, suspensions),
    OFFSET("worker.pump", Worker, pump),
    OFFSET("worker.inbox", Worker, inbox.m_head),
    OFFSET("worker.pinnedFibers", Worker, pinnedFibers),
    OFFSET("worker.pinnedTasks", Worker, pinnedTasks),
    {"worker.pinnedQueues", kPriorities},
    OFFSET("worker.lanes", Worker, lanes),
    {"worker.laneCount", kLanes},
    {"worker.lanesPerLevel", kClasses},
    OFFSET("worker.ready", Worker, ready),
    {"worker.readyCount", kLevels},
    OFFSET("worker.claim.next", Worker, claim.next),
    OFFSET("worker.claim.end", Worker, claim.end),
    OFFSET("worker.claim.counter", Worker, claim.counter),
    OFFSET("worker.claim.name", Worker, claim.name),
    OFFSET("worker.pending.counter", Worker, pending.counter),
    OFFSET("worker.pending.finished", Worker, pending.finished),
    OFFSET("worker.pending.units", Worker, pending.units),
    OFFSET("pump.fiber", Pump, fiber),
    OFFSET("pump.outer", Pump, outer),

    // ---- a fiber ----
    {"fiber.size", sizeof(Fiber)},
    OFFSET("fiber.index", Fiber, index),
    OFFSET("fiber.worker", Fiber, worker),
    OFFSET("fiber.pinnedTo", Fiber, pinnedTo),
    OFFSET("fiber.waitTarget", Fiber, waitTarget),
    OFFSET("fiber.level", Fiber, level),  // one byte: the priority below level.set
    OFFSET("fiber.carries", Fiber, carries),
    OFFSET("fiber.taskName", Fiber, taskName),
    OFFSET("fiber.taskCounter", Fiber, taskCounter),
    OFFSET("fiber.frames", Fiber, waits),
    OFFSET("fiber.waitsFor", Fiber, waitsFor),
    OFFSET("fiber.waitsForIdle", Fiber, waitsForIdle),
    OFFSET("fiber.stackBottom", Fiber, m_stackBottom),
    OFFSET("fiber.stackBytes", Fiber, m_stackBytes),
    OFFSET("fiber.handle", Fiber, context.m_handle),  // null while the fiber runs
    OFFSET("fiber.isNew", Fiber, context.m_isNew),
    OFFSET("frame.counter", WaitFrame, counter),
    OFFSET("frame.outer", WaitFrame, outer),
    {"level.set", 1u << Level::kPriorityBits},

    // ---- queues ----
    {"deque.size", sizeof(Tasks)},
    OFFSET("deque.top", Tasks, m_top),
    OFFSET("deque.bottom", Tasks, m_bottom),
    OFFSET("deque.ring", Tasks, m_ring),
    OFFSET("ring.capacity", Tasks::Ring, capacity),
    {"ring.items", sizeof(Tasks::Ring)},
    {"entry.size", sizeof(TaskEntry)},
    OFFSET("entry.function", TaskEntry, m_first),
    OFFSET("entry.count", TaskEntry, m_second),
    OFFSET("entry.counter", TaskEntry, m_counter),
    OFFSET("entry.name", TaskEntry, m_name),
    {"entry.idMask", TaskEntry::kIdByte},  // not part of a pointer
    {"entry.slice", TaskEntry::kSlice},    // flags in the counter
    {"entry.flags", TaskEntry::kSlice | TaskEntry::kLarge},
    {"entry.countMask", (1u << TaskEntry::kCountBits) - 1},
    {"task.size", sizeof(Task)},
    OFFSET("item.next", InboxItem, next),
    OFFSET("item.kind", InboxItem, kind),
    {"item.fiber", static_cast<uint64_t>(InboxItem::Kind::Fiber)},
    {"inboxQueue.size", sizeof(InboxQueue)},
    OFFSET("inboxQueue.first", InboxQueue, first),
    OFFSET("block.count", TaskBlock, count),
    OFFSET("block.taken", TaskBlock, taken),
    OFFSET("block.counter", TaskBlock, counter),
    OFFSET("block.name", TaskBlock, label.name),
    OFFSET("block.worker", TaskBlock, worker),
    {"block.size", sizeof(TaskBlockOf<1>)},  // in Scheduler::singles

    // ---- counters and waits ----
    {"counter.one", kZero.WithCount(1).bits},
    {"counter.headOne", kZero.WithHead(1).bits},
    {"counter.headMask", CounterWord::kMaxRecords},
    {"counter.sorting", kZero.WithSorting(true).bits},
    {"counter.eager", kZero.WithEager(true).bits},
    {"record.size", sizeof(WaitRecord)},
    OFFSET("record.next", WaitRecord, next),
    OFFSET("record.value", WaitRecord, value),
    OFFSET("record.owner", WaitRecord, owner),
    OFFSET("record.kind", WaitRecord, kind),
    {"record.waiter", static_cast<uint64_t>(WaitRecord::Kind::Waiter)},
    // the owner of a record: a fiber's index, or an index with one of these bits, the highest first
    {"owner.thread", kThreadOwner},
    {"owner.any", kAnyOwner},
    {"owner.task", kTaskOwner},
    {"owner.anyCounters", kAnyCounters},
    {"threadWaiter.size", sizeof(ThreadWaiter)},
    OFFSET("threadWaiter.waitsFor", ThreadWaiter, waitsFor),
    {"anyWait.size", sizeof(AnyWait)},
    OFFSET("anyWait.done", AnyWait, done),
    OFFSET("anyWait.counters", AnyWait, counters),
    OFFSET("anyWait.asked", AnyWait, asked),
    {"timedTask.size", sizeof(TimedTask)},
    OFFSET("timedTask.isSet", TimedTask, timer.isSet),
    OFFSET("timedTask.deadline", TimedTask, timer.deadline),
    OFFSET("timedTask.block", TimedTask, block),
    OFFSET("timer.child", Timer, child),
    OFFSET("timer.next", Timer, next),
    OFFSET("timer.deadline", Timer, deadline),
    OFFSET("timer.owner", Timer, expiry.owner),

    // ---- containers ----
    {"bits.wordSize", sizeof(AtomicBitSet::Word)},
    {"cache.size", sizeof(FiberPool::Cache)},
    {"cache.slots", FiberPool::kCacheSlots},
    // a pool: segments of 64, 64, 128, 256 and so on items; null: not there yet
    OFFSET("pool.segments", Threads, m_segments),
    {"pool.segmentSize", sizeof(Threads::Segment)},
    OFFSET("pool.items", Threads::Segment, items),
    {"pool.firstItems", 64},
};

#undef OFFSET

const void *DebugRootOfProcess() noexcept { return &weft_debug_root; }

}  // namespace weft::internal

#define WEFT_TEXT_OF(number) #number
#define WEFT_TEXT(number) WEFT_TEXT_OF(number)

#if defined(__GNUC__)
__attribute__((used))
#endif
weft::internal::DebugRoot weft_debug_root = {
    "weft debug root",
    1,
    sizeof(void *),
    &weft_debug_root,
    WEFT_TEXT(WEFT_VERSION_MAJOR) "." WEFT_TEXT(WEFT_VERSION_MINOR) "." WEFT_TEXT(WEFT_VERSION_PATCH),
    sizeof(weft::internal::NamedValue),
    std::size(weft::internal::DebugLayout::s_fields),
    weft::internal::DebugLayout::s_fields,
    &weft::internal::g_contextLayout,
    weft::internal::g_savedRegisters,
    weft::internal::kSavedRegisterCount,
    weft::internal::DebugLayout::kSchedulersCount,
    weft::internal::DebugLayout::kSchedulers,
};
