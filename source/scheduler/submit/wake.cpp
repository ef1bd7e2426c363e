// Implements wake.h.
#include "scheduler/submit/wake.h"

#include "platform/race_finder.h"
#include "scheduler/state/trace.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kMostWakes = 3;  // by one worker at once

// `passes`: for how many more entries the woken worker wakes others once it has work.
void Unpark(Scheduler &scheduler, Worker *by, uint32_t index, uint32_t passes = 0) noexcept {
    Worker &worker = scheduler.workers[index];
    if (by != nullptr) by->figures.Count(&Figures::wakes);
    Emit(scheduler, by, TraceKind::Wake, nullptr, 0, index);
    worker.woken.by.store(by != nullptr ? by->index + 1 : 0, kRelaxed);
    worker.woken.passes.store(passes, kRelaxed);
    worker.parker.Unpark();
}

void WakeAt(Scheduler &scheduler, Worker *by, uint32_t index) noexcept {
    if (scheduler.idle.TakeAt(index)) Unpark(scheduler, by, index);
}

// A mask that was read may have changed before the sleeper was taken. Then another one is woken.
bool WakeFor(Scheduler &scheduler, Worker *by, uint32_t levels, bool choosy) noexcept {
    for (;;) {
        const uint32_t index = scheduler.idle.TakeFor(levels, scheduler.Slots(), choosy);
        if (index == Idle::kNone) return false;
        const bool isFit = scheduler.idle.IsFor(index, levels);
        Unpark(scheduler, by, index);
        if (isFit) return true;
    }
}

Priority WaiterOf(const Counter *counter) noexcept {
    // relaxed: a waiter that comes later raises the next fiber that becomes ready
    return counter != nullptr
               ? CounterWord{CounterAccess::Word(*counter).load(kRelaxed)}.HighestWaiter()
               : Priority::Low;
}

// A task inherits the priority of the highest waiter for the counter that counts it. These counters
// are alive: each of them counts a task of this fiber that has not finished.
Priority PriorityOf(const Scheduler &scheduler, const Fiber &fiber) noexcept {
    // A Low task that only some groups may run stays with them. relaxed: any of the values will do
    if (fiber.own == Priority::Low && fiber.level.Slot() == 0 &&
        scheduler.lowGroups.load(kRelaxed) != 0)
        return Priority::Low;
    Priority priority = std::min(fiber.own, WaiterOf(fiber.counter.load(kRelaxed)));
    for (const InlineFrame *frame = fiber.inlined; frame != nullptr; frame = frame->outer)
        priority = std::min(priority, WaiterOf(frame->counter));
    return priority;
}

// In Chunk::index.
constexpr uint32_t kIsSingle = 1u << 31, kIsLarge = 1u << 30;

template <class Pool>
Chunk *TakeFrom(Pool &pool, uint32_t user, uint32_t kind) noexcept {
    const uint32_t index = pool.Take(user);
    if (index == Pool::kNone) return nullptr;
    Chunk &chunk = pool.At(index);
    chunk.index = index | kind;
    return &chunk;
}

Chunk *TakeChunk(Scheduler &scheduler, uint32_t user, uint32_t tasks) noexcept {
    if (tasks > kChunkTasks) return TakeFrom(scheduler.pools.largeChunks, user, kIsLarge);
    Chunk *const single = tasks == 1 ? TakeFrom(scheduler.pools.singles, user, kIsSingle) : nullptr;
    return single != nullptr ? single : TakeFrom(scheduler.pools.chunks, user, 0);
}

}  // namespace

void WakeOne(Scheduler &scheduler, Worker *by, uint32_t levels) noexcept {
    if ((levels & (kPlainLevels | kAnyKeeper)) != 0 && WakePlain(scheduler, by, 1)) return;
    if (scheduler.idle.AnySleeper()) WakeFor(scheduler, by, levels, false);
}

void WakeAll(Scheduler &scheduler, Worker *by) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) WakeAt(scheduler, by, i);
}

// Each woken worker wakes up to three more. So n sleepers are awake after about log n steps.
bool WakePlain(Scheduler &scheduler, Worker *by, uint32_t entries) noexcept {
    const uint32_t all = std::min(entries, scheduler.idle.PlainSleepers());
    bool any = false;
    for (uint32_t i = std::min(all, kMostWakes), rest = all - i; i != 0; --i) {
        const uint32_t index = scheduler.idle.TakeAny(by != nullptr ? by->index : 0);
        if (index == Idle::kNone) break;
        any = true;
        const uint32_t passes = (rest + i - 1) / i;
        Unpark(scheduler, by, index, passes);
        rest -= passes;
    }
    return any;
}

void Published(Scheduler &scheduler, Worker *by, Level level, uint32_t entries) noexcept {
    if ((kUnnoticed & level.Bit()) == 0) scheduler.notices.Show(level.Bit());
    Idle &idle = scheduler.idle;
    const bool isPlain = level.Slot() == 0;
    if (isPlain && idle.PlainWanted()) WakePlain(scheduler, by, entries);
    // A choosy sleeper may be the only one that has nothing better to do. The workers of a group
    // may all sleep although others search.
    const uint32_t most = std::min(entries, 2u);
    for (uint32_t i = 0; i < most && WEFT_UNLIKELY(isPlain ? idle.AnyChoosy() : idle.AnySleeper());
         ++i) {
        if (!WakeFor(scheduler, by, level.Bit(), isPlain)) break;
    }
}

void KeepDeadline(Scheduler &scheduler, Worker *by, uint64_t deadline) noexcept {
    const uint64_t next = scheduler.timers.Next();
    if (next >= deadline && scheduler.keeperUntil.load(kSeqCst) > next)
        WakeOne(scheduler, by, kAnyKeeper);
}

void SetTimer(Scheduler &scheduler, Worker *by, Timer &timer, uint64_t deadline) noexcept {
    scheduler.timers.SetIf(timer, deadline, [] { return true; });
    scheduler.notices.Show(Notices::kTimed);
    KeepDeadline(scheduler, by, deadline);
}

void Inject(Scheduler &scheduler, Worker *by, Node *newest, Node *oldest,
            uint32_t entries) noexcept {
    const Level level = oldest->level;  // read it now: they belong to others then
    scheduler.injector.Push(newest, oldest);
    Published(scheduler, by, level, entries);
}

void SignalAll(Scheduler &scheduler, Worker *by) noexcept {
    scheduler.changes.fetch_add(1, kRelease);  // after the change: pairs with NoteFilter
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        Worker &worker = scheduler.workers[i];
        // If it is set, the owner clears it before it reads what has changed (TakeMail).
        if (worker.isSignalled.exchange(true, kSeqCst)) continue;
        worker.inbox.Push(&worker.signal, &worker.signal);
        WakeAt(scheduler, by, i);
    }
}

void Mail(Scheduler &scheduler, Worker *by, uint32_t index, Node *newest, Node *oldest) noexcept {
    scheduler.workers[index].inbox.Push(newest, oldest);
    if (by == nullptr || by->index != index) WakeAt(scheduler, by, index);
}

// A worker that is about to pick probably continues this fiber. Others can steal it, but none is
// woken for it. If the worker picks something else, it wakes them then.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber, bool picks) noexcept {
    if (IsTraced(scheduler) && fiber.wait.counter.load(kRelaxed) != nullptr)
        EmitReady(scheduler, worker, fiber);
    fiber.wait.counter.store(nullptr, kRelaxed);
    const Priority priority = PriorityOf(scheduler, fiber);
    if (priority != fiber.level.ThePriority()) fiber.level = {priority, fiber.level.Slot()};
    if (fiber.pinnedTo != kAnyWorker)
        return Mail(scheduler, worker, fiber.pinnedTo, &fiber, &fiber);
    if (worker == nullptr) return Inject(scheduler, nullptr, &fiber, &fiber, 1);
    HandOver &handOver = worker->handOver;
    if (handOver.isQuiet) EndQuiet(*worker);
    handOver.last = &fiber;
    handOver.level = fiber.level;
    // The host's code may not come back to a scheduling point soon. High work must be noticed.
    handOver.isQuiet =
        picks && !worker->current->IsThreadStack() && (kUnnoticed & fiber.level.Bit()) != 0;
    Push(*worker, handOver.level, Entry::Of(fiber));
    if (!handOver.isQuiet) PublishedOwn(*worker, handOver.level, 1);
}

void EndQuiet(Worker &worker) noexcept {
    worker.handOver.isQuiet = false;
    Published(*worker.scheduler, &worker, worker.handOver.level, 1);
}

// A chunk costs as much as several small tasks. So each worker gets two to four, or more if they
// would be too large. A begun chunk is shared only if its tasks are long (Fairness::AreLong).
uint32_t ChunkSize(const Scheduler &scheduler, uint32_t count, uint32_t onWorker) noexcept {
    // each task may be drawn
    if (race::kFinder || WEFT_UNLIKELY(scheduler.order != nullptr)) return 1;
    // the pinned tasks of an attached thread are unbound one by one
    if (onWorker != kAnyWorker) return scheduler.IsAttachedSlot(onWorker) ? 1 : kChunkTasks;
    const uint32_t workers = std::max(scheduler.workerCount, 1u);
    const uint32_t parts = workers == 1 ? 1 : workers * std::clamp(count / (16 * workers), 2u, 4u);
    const uint32_t most = count > scheduler.options.pendingTasks ? kLargeChunkTasks : kChunkTasks;
    return std::clamp(count / parts + (count % parts != 0 ? 1 : 0), 1u, most);
}

Chunk &FillChunk(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                 const TasksOf &of, Level level, uint32_t number) noexcept {
    Chunk *const taken = TakeChunk(scheduler, CacheOf(worker), count);
    if (WEFT_UNLIKELY(taken == nullptr)) OutOfMemory(scheduler);
    Chunk &chunk = *taken;
    chunk.isPinned = chunk.isOld = false;
    chunk.begin = chunk.settled = 0;
    chunk.level = level;
    chunk.of = of;
    chunk.end = static_cast<uint8_t>(count);
    chunk.number = number;
    const race::Unwatched unwatched;
    std::copy_n(tasks, count, chunk.Tasks());
    return chunk;
}

Chunk &ChunkFor(const Worker &worker, const Entry &entry, Level level) noexcept {
    if (entry.TheKind() == Entry::Chunk) return entry.TheChunk();
    const Task task = entry.TheTask();
    return FillChunk(*worker.scheduler, &worker, 1, &task, entry, level, entry.Number());
}

void GiveChunk(Scheduler &scheduler, const Worker *worker, Chunk &chunk) noexcept {
    const uint32_t user = CacheOf(worker);
    if ((chunk.index & kIsSingle) != 0)
        scheduler.pools.singles.GiveBack(chunk.index & ~kIsSingle, user);
    else if ((chunk.index & kIsLarge) != 0)
        scheduler.pools.largeChunks.GiveBack(chunk.index & ~kIsLarge, user);
    else
        scheduler.pools.chunks.GiveBack(chunk.index, user);
}

ChunkList MakeChunks(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level, uint32_t onWorker, uint32_t number) noexcept {
    const uint32_t size = ChunkSize(scheduler, count, onWorker);
    ChunkList list;
    list.onWorker = onWorker;
    for (uint32_t begin = 0, n; begin < count; begin += n, ++list.chunks) {
        n = std::min(size, count - begin);
        Chunk &chunk = FillChunk(scheduler, worker, n, tasks + begin, of, level, number);
        number += n;
        chunk.isPinned = onWorker != kAnyWorker;
        chunk.next = list.newest;
        list.newest = &chunk;
        if (list.oldest == nullptr) list.oldest = &chunk;
    }
    return list;
}

void Deliver(Scheduler &scheduler, Worker *worker, const ChunkList &tasks,
             bool areDeferred) noexcept {
    for (Node *node = tasks.newest; race::kFinder && node != nullptr; node = node->next)
        race::Submitted(1, static_cast<Chunk *>(node)->Tasks());
    if (IsTraced(scheduler) && areDeferred) TraceDeferred(scheduler, worker, tasks);
    if (tasks.onWorker != kAnyWorker)
        return Mail(scheduler, worker, tasks.onWorker, tasks.newest, tasks.oldest);
    if (worker == nullptr || tasks.chunks != 1)
        return Inject(scheduler, worker, tasks.newest, tasks.oldest, tasks.chunks);
    PushEntry(*worker, tasks.newest->level, Entry::Of(*tasks.newest));
}

// acq_rel: the thread that hands the tasks over sees what was done before each reference went. The
// next owner of the object comes after all of them.
void Reach(Scheduler &scheduler, Worker *worker, Deferred &deferred, uint32_t n) noexcept {
    const ChunkList tasks = deferred.tasks;  // after the subtraction the object may be gone
    const uint32_t firesAt = deferred.firesAt.load(kRelaxed), index = deferred.index;
    race::Finishes(&deferred);
    const uint64_t before = deferred.state.fetch_sub(n, kAcqRel);
    const uint32_t had = static_cast<uint32_t>(before & Deferred::kLeft), left = had - n;
    const bool fires = had > firesAt && left <= firesAt && (before & Deferred::kWithdrawn) == 0;
    if (fires) race::SawAll(&deferred);
    if (left == 0) {
        // only this thread refers to it now
        const uint64_t generation = (before >> Deferred::kGenerationShift) + 1;
        deferred.counter.store(nullptr, kRelaxed);
        // release: a thread that reads the new generation does not use the object
        deferred.state.store(generation << Deferred::kGenerationShift, kRelease);
        scheduler.pools.deferred.GiveBack(index, CacheOf(worker));
    }
    if (fires) Deliver(scheduler, worker, tasks);
}

}  // namespace weft::internal
