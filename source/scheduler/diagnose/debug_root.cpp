// The table of weft_debug_root (state/debug_root.h). All of it is constant-initialised: it costs
// nothing at start, and is there before main.
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
    using Deque = WorkStealingDeque<Entry>;
    // The pools differ only in the type of their items. This one stands for all.
    using Threads = SegmentPool<ThreadWaiter>;
    static constexpr CounterWord kZero{0};
    static constexpr const void *kSchedulers = SchedulerTag::s_entries;
    static NamedValue s_fields[];
};

#define WEFT_FIELD(name, type, member) \
    { name, offsetof(type, member) }

NamedValue DebugLayout::s_fields[] = {
    {"tag.size", sizeof(SchedulerTag::Entry)},
    WEFT_FIELD("tag.scheduler", SchedulerTag::Entry, scheduler),

    {"scheduler.size", sizeof(Scheduler)},
    WEFT_FIELD("scheduler.taskScheduler", Scheduler, taskScheduler),
    WEFT_FIELD("scheduler.workerCount", Scheduler, workerCount),
    WEFT_FIELD("scheduler.slotCount", Scheduler, slotCount),
    WEFT_FIELD("scheduler.workers", Scheduler, workers),
    WEFT_FIELD("scheduler.fibers", Scheduler, fibers.all),
    WEFT_FIELD("scheduler.fiberCount", Scheduler, fibers.count),
    WEFT_FIELD("scheduler.guests", Scheduler, guests.count),
    WEFT_FIELD("scheduler.endWanted", Scheduler, endWanted),
    WEFT_FIELD("scheduler.injector", Scheduler, injector.m_head),
    WEFT_FIELD("scheduler.behind", Scheduler, behind),
    // words of bits, bits.wordSize apart; worker.spareFiber is free, too
    WEFT_FIELD("scheduler.free", Scheduler, fibers.free.m_free.m_words),
    // wait record i belongs to fiber i; those behind the fibers are in the pool of spares
    WEFT_FIELD("scheduler.records", Scheduler, counters.m_records.m_own),
    WEFT_FIELD("scheduler.recordCount", Scheduler, counters.m_records.m_fibers),
    WEFT_FIELD("scheduler.spares", Scheduler, counters.m_records.m_spares.m_pool),
    WEFT_FIELD("scheduler.deferredTasks", Scheduler, pools.deferred.m_pool),
    WEFT_FIELD("scheduler.threadWaiters", Scheduler, pools.threadWaiters),
    {"spares.maxItems", WaitRecords::kMaxSpares},
    {"deferredTasks.maxItems", decltype(Pools::deferred)::kMaxItems},
    {"threadWaiters.maxItems", Threads::kMaxItems},
    // from the TaskScheduler on: the number of ExternalWork objects
    {"taskScheduler.outside", EntryGate::StateOffset() + offsetof(SchedulerState, outside)},

    {"worker.size", sizeof(Worker)},
    WEFT_FIELD("worker.current", Worker, current),
    WEFT_FIELD("worker.comesNext", Worker, comesNext),  // a fiber that pumps
    WEFT_FIELD("worker.threadFiber", Worker, thread),
    // begins with the system's handle, which is 0 for a thread that weft has not started
    WEFT_FIELD("worker.thread", Worker, osThread),
    WEFT_FIELD("worker.rest", Worker, rest.kind),
    {"rest.away", Rest::kAway},
    {"rest.looks", Rest::kLooks},
    {"rest.sleeps", Rest::kSleeps},
    // what it may run: no level if the worker is inactive, and only priorities below the limit
    WEFT_FIELD("worker.levels", Worker, filter.runs),
    WEFT_FIELD("worker.limit", Worker, filter.limit),
    WEFT_FIELD("worker.inHook", Worker, inHook),
    WEFT_FIELD("worker.finished", Worker, ended),
    WEFT_FIELD("worker.inbox", Worker, inbox.m_head),
    WEFT_FIELD("worker.pinned", Worker, pinned),  // one queue for each priority
    WEFT_FIELD("worker.spareFiber", Worker, spareFiber),
    WEFT_FIELD("worker.queues", Worker, queue),  // one deque for each level
    {"level.count", kLevels},
    {"level.priorities", kPriorities},
    WEFT_FIELD("worker.claim", Worker, claim),  // chunks, linked by chunk.outer
    WEFT_FIELD("worker.pending.counter", Worker, finished.counter),
    WEFT_FIELD("worker.pending.units", Worker, finished.tasks),

    {"fiber.size", sizeof(Fiber)},
    WEFT_FIELD("fiber.index", Fiber, index),
    WEFT_FIELD("fiber.pinnedTo", Fiber, pinnedTo),
    WEFT_FIELD("fiber.waitTarget", Fiber, wait.target),
    WEFT_FIELD("fiber.waitsFor", Fiber, wait.counter),
    WEFT_FIELD("fiber.waitKind", Fiber, wait.kind),
    {"waitKind.sleep", static_cast<uint64_t>(WaitKind::Sleep)},
    {"waitKind.several", static_cast<uint64_t>(WaitKind::Several)},
    {"waitKind.idle", static_cast<uint64_t>(WaitKind::Idle)},
    {"waitKind.call", static_cast<uint64_t>(WaitKind::Call)},
    {"waitKind.operation", static_cast<uint64_t>(WaitKind::Operation)},
    WEFT_FIELD("fiber.deadline", Fiber, wait.deadline),
    WEFT_FIELD("fiber.taskName", Fiber, name),
    WEFT_FIELD("fiber.taskCounter", Fiber, counter),
    WEFT_FIELD("fiber.frames", Fiber, inlined),
    // while it waits: the counters of the innermost frames; the first null ends them
    WEFT_FIELD("fiber.inlined", Fiber, wait.inlined),
    {"fiber.inlinedCount", FiberWait::kInlined},
    WEFT_FIELD("fiber.stackBottom", Fiber, m_bottom),
    WEFT_FIELD("fiber.stackBytes", Fiber, m_bytes),
    WEFT_FIELD("fiber.handle", Fiber, context.m_handle),  // null while the fiber runs
    // Pointers to locks, null without SchedulerOptions::lockHolders: the one that the task waits
    // for, and those that it holds. Null among the held ones: a place that is not in use.
    WEFT_FIELD("fiber.awaitedLock", Fiber, locks.awaited),
    WEFT_FIELD("fiber.heldLocks", Fiber, locks.m_locks),
    {"fiber.heldLocksCount", HeldLocks::kMax},
    WEFT_FIELD("frame.counter", InlineFrame, counter),
    WEFT_FIELD("frame.outer", InlineFrame, outer),

    {"deque.size", sizeof(Deque)},
    WEFT_FIELD("deque.top", Deque, m_top),
    WEFT_FIELD("deque.bottom", Deque, m_bottom),
    WEFT_FIELD("deque.ring", Deque, m_ring),
    WEFT_FIELD("ring.capacity", Deque::Ring, capacity),
    {"ring.items", sizeof(Deque::Ring)},
    {"entry.size", sizeof(Entry)},
    WEFT_FIELD("entry.what", Entry, m_what),  // a function, a chunk or a fiber
    WEFT_FIELD("entry.counter", Entry, m_counter),
    WEFT_FIELD("entry.name", Entry, m_name),
    {"entry.kindMask", TasksOf::kKind},  // of the counter
    {"entry.chunk", Entry::Chunk},
    {"entry.fiber", Entry::Fiber},
    {"entry.flags", ~TasksOf::kCounter},
    {"entry.nameMask", TasksOf::kAddress},
    WEFT_FIELD("item.next", Node, next),
    WEFT_FIELD("item.kind", Node, kind),
    {"item.fiber", static_cast<uint64_t>(Node::Kind::Fiber)},
    {"item.chunk", static_cast<uint64_t>(Node::Kind::Chunk)},
    {"inboxQueue.size", sizeof(NodeQueue)},
    WEFT_FIELD("inboxQueue.first", NodeQueue, first),
    WEFT_FIELD("chunk.begin", Chunk, begin),
    WEFT_FIELD("chunk.end", Chunk, end),
    WEFT_FIELD("chunk.settled", Chunk, settled),
    WEFT_FIELD("chunk.counterBits", Chunk, of.m_counter),
    WEFT_FIELD("chunk.nameBits", Chunk, of.m_name),
    WEFT_FIELD("chunk.outer", Chunk, next),
    {"deferred.size", sizeof(Deferred)},
    WEFT_FIELD("deferred.state", Deferred, state),
    {"deferred.left", Deferred::kLeft},
    {"deferred.withdrawn", Deferred::kWithdrawn},
    WEFT_FIELD("deferred.firesAt", Deferred, firesAt),
    WEFT_FIELD("deferred.isTimed", Deferred, timer.isSet),
    WEFT_FIELD("deferred.count", Deferred, count),
    WEFT_FIELD("deferred.counter", Deferred, counter),
    WEFT_FIELD("deferred.name", Deferred, name),

    {"counter.one", kZero.WithCount(1).bits},
    {"counter.headOne", kZero.WithHead(1).bits},
    {"counter.headMask", CounterWord::kMaxRecords},
    // next and child: the number of another record of the counter, plus one
    {"record.size", sizeof(WaitRecord)},
    WEFT_FIELD("record.next", WaitRecord, next),
    WEFT_FIELD("record.child", WaitRecord, child),
    WEFT_FIELD("record.value", WaitRecord, target),
    WEFT_FIELD("record.owner", WaitRecord, owner),
    {"owner.kindMask", kOwnerKind},
    {"owner.deferred", kDeferredOwner},  // its kind; the rest of the owner is an index
    {"threadWaiter.size", sizeof(ThreadWaiter)},
    WEFT_FIELD("threadWaiter.waitsFor", ThreadWaiter, waitsFor),
    WEFT_FIELD("threadWaiter.waitTarget", ThreadWaiter, target),
    WEFT_FIELD("threadWaiter.waitKind", ThreadWaiter, kind),
    WEFT_FIELD("threadWaiter.deadline", ThreadWaiter, deadline),
    // a wait for one of several counters waits for its counter `first`
    WEFT_FIELD("anyWait.first", AnyWait, first),
    WEFT_FIELD("anyWait.counters", AnyWait, counters),
    WEFT_FIELD("anyWait.count", AnyWait, count),

    {"bits.wordSize", sizeof(AtomicBitSet::Word)},
    // a pool: segments of 64, 64, 128, 256 and so on items; null: not there (any of them)
    WEFT_FIELD("pool.segments", Threads, m_segments),
    {"pool.segmentSize", sizeof(Threads::Segment)},
    WEFT_FIELD("pool.items", Threads::Segment, items),
    {"pool.firstItems", 64},
};

#undef WEFT_FIELD
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

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
    weft::internal::CounterWord::kMaxTag,
    weft::internal::DebugLayout::kSchedulers,
};

#undef WEFT_VERSION_TEXT
#undef WEFT_TEXT
#undef WEFT_TEXT_OF
