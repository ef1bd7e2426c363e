// The tables that say which workers run which levels, and the queues of a worker for each set of
// groups.
#include "scheduler/state/groups.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Computes Worker::runs for all workers. The caller holds Scheduler::groupsLock, or no other thread
// exists.
void UpdateRuns(Scheduler &scheduler) noexcept {
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        Worker &worker = scheduler.workers[i];
        uint32_t levels = 0;
        for (uint32_t level = 0; level < kLevels; ++level) {
            // relaxed: written under the lock
            const uint32_t groups = scheduler.groupsOf[level].load(kRelaxed);
            if ((groups >> (scheduler.IsAttachedSlot(i) ? kMaxGroups : worker.group) & 1) != 0)
                levels |= 1u << level;
        }
        worker.runs.store(levels, kSeqCst);
    }
}

// Returns the groups that run tasks which name no groups.
uint32_t OpenGroups(const Scheduler &scheduler) noexcept {
    uint32_t open = scheduler.AllGroups();
    for (uint32_t i = 0; i < scheduler.options.groupCount; ++i) {
        if (scheduler.options.groups[i].namedOnly) open &= ~(1u << i);
    }
    return open;
}

// Returns the groups that run Low tasks which name no groups. `asked`: SchedulerOptions::lowGroups.
uint32_t LowGroups(const Scheduler &scheduler, uint32_t asked) noexcept {
    const uint32_t all = scheduler.AllGroups();
    if (asked == 0 || scheduler.workerCount == 0) return OpenGroups(scheduler);
    return (asked | 1u << kMaxGroups) == all ? all : asked;  // all groups: attached threads, too
}

void StoreGroups(Scheduler &scheduler, Level level, uint32_t groups) noexcept {
    scheduler.groupsOf[level.Index()].store(static_cast<uint16_t>(groups), kSeqCst);
}

}  // namespace

bool AcquireGroups(Scheduler &scheduler) noexcept {
    SchedulerOptions &options = scheduler.options;
    scheduler.groupCount = std::max(options.groupCount, 1u);
    uint32_t words = 0;
    for (uint32_t i = 0; i < options.groupCount; ++i)
        words += options.groups[i].cpus != nullptr ? options.groups[i].cpuWords : 0;
    scheduler.groupCpuWords = words;
    if (words != 0) scheduler.groupCpus = scheduler.memory.NewArray<uint64_t>(words);
    if (words != 0 && scheduler.groupCpus == nullptr) return false;
    uint64_t *copy = scheduler.groupCpus;
    uint32_t end = options.groupCount == 0 ? scheduler.workerCount : 0;
    for (uint32_t i = 0; i < options.groupCount; ++i) {
        WorkerGroup &group = scheduler.groups[i] = options.groups[i];
        end = scheduler.groupEnd[i] = end + group.workers;
        if (group.cpus != nullptr)
            group.cpus = std::copy_n(group.cpus, group.cpuWords, copy) - group.cpuWords;
        if (group.cpus != nullptr) copy += group.cpuWords;
    }
    if (options.groupCount == 0) scheduler.groupEnd[0] = end;
    options.groups = scheduler.groups;
    for (uint32_t i = 0, group = 0; i < scheduler.slotCount; ++i) {
        while (group < scheduler.groupCount && i >= scheduler.groupEnd[group]) ++group;
        scheduler.workers[i].group = static_cast<uint8_t>(scheduler.IsAttachedSlot(i) ? 0 : group);
    }
    const uint32_t open = OpenGroups(scheduler);
    for (const Priority priority : {Priority::High, Priority::Normal})
        StoreGroups(scheduler, priority, open);
    StoreGroups(scheduler, Priority::Low, LowGroups(scheduler, options.lowGroups));
    UpdateRuns(scheduler);
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) LookAtRuns(&scheduler.workers[i]);
    return true;
}

uint32_t NewSet(Scheduler &scheduler, uint8_t groups) noexcept {
    const SpinLock::Held held(scheduler.groupsLock);
    const uint32_t known = scheduler.setOf[groups].load(kRelaxed);  // written under the lock
    if (known != 0) return known - 1;
    const uint32_t set = scheduler.setsInUse.load(kRelaxed);  // the same
    if (set == kSets) return kSets;
    for (uint32_t i = 0; i < kPriorities; ++i)
        StoreGroups(scheduler, {static_cast<Priority>(i), set}, groups);
    // A worker that runs the set must also look into the set's queues (Levels).
    scheduler.setsInUse.store(set + 1, kSeqCst);  // [order] before Worker::runs
    UpdateRuns(scheduler);
    scheduler.setOf[groups].store(static_cast<uint8_t>(set + 1),
                                  kRelease);  // a thread that reads it publishes tasks of the set
    return set;
}

void SetLow(Scheduler &scheduler, uint8_t groups) noexcept {
    const SpinLock::Held held(scheduler.groupsLock);
    StoreGroups(scheduler, Priority::Low, LowGroups(scheduler, groups));
    UpdateRuns(scheduler);
}

Level LevelOnTopOf(const Scheduler &scheduler, Level waiter, Level task) noexcept {
    const Priority higher = std::min(waiter.ThePriority(), task.ThePriority());
    // relaxed: the groups that were valid when the task was taken are as good.
    const auto groups = [&](Level level) -> uint32_t {
        return scheduler.groupsOf[level.Index()].load(kRelaxed);
    };
    const uint32_t both = groups(waiter) & groups(task);
    for (const Level level : {task.At(higher), task}) {
        if ((groups(level) & ~both) == 0) return level;
    }
    // The waiter's own level. Tasks that the new task submits inherit the same set as before.
    if (task.Set() == waiter.Set() && (groups(waiter) & ~both) == 0) return waiter;
    return Level::None();
}

void LookAtRuns(Worker *worker) noexcept {
    // relaxed: if this is an older value, the next look sees the new one
    const uint32_t runs = worker->runs.load(kRelaxed);
    if (runs == worker->runsSeen) return;
    worker->runsSeen = runs;
    worker->runsLanes = LaneBits(runs);
    // Low fibers and Small Low tasks are never special: they come after everything that FindPlain
    // looks for. If the worker runs no High or Normal tasks of set 0, FindPlain must use no level
    // of set 0.
    const bool isPlain = (runs & kPlainLevels & ~kLowLevels) != 0;
    const uint32_t plain = isPlain ? kPlainLevels : 0;
    const uint32_t special = isPlain ? runs : runs | kPlainLevels;
    worker->specialFibers = special & ~plain & ~kLowLevels;
    worker->specialLanes = LaneBits(special) & ~(LaneBits(plain | kLowLevels) & kSmallLanes);
}

namespace {

// Returns the capacity of a queue: `least`, or the next power of two from `items` on.
uint64_t Capacity(uint64_t least, uint64_t items) noexcept {
    while (least < items) least *= 2;
    return least;
}

}  // namespace

// No queue has more entries than tasks are pending: each entry has a task that nothing else has.
bool AcquireNewSet(Worker &worker, uint32_t set) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    const Memory memory = scheduler.memory;
    const uint32_t tasks = scheduler.options.pendingTasks;
    const uint32_t fibers = std::min(tasks, scheduler.FiberCount());
    for (uint32_t i = 0; i < kPriorities; ++i) {
        const Level level(static_cast<Priority>(i), set);
        for (const StackClass stack : {StackClass::Small, StackClass::Large}) {
            WorkStealingDeque<TaskEntry> &lane = worker.lanes[LaneOf(level, stack)];
            if (!lane.IsAcquired() &&
                !lane.Acquire(Capacity(stack == StackClass::Small ? 256 : 16, tasks), 0, memory))
                return false;
        }
        WorkStealingDeque<uint64_t> &ready = worker.ready[level.Index()];
        if (!ready.IsAcquired() && !ready.Acquire(Capacity(64, fibers), 0, memory)) return false;
    }
    worker.setsAcquired |= 1u << set;
    return true;
}

namespace {

// Frees the queues and the slab of a worker.
void ReleaseQueues(Worker &worker) noexcept {
    worker.slab.Release();
    worker.setsAcquired = 0;
    for (WorkStealingDeque<TaskEntry> &lane : worker.lanes) lane.Release();
    for (WorkStealingDeque<uint64_t> &ready : worker.ready) ready.Release();
}

// Returns how many blocks the slab of a worker begins with: one, and two for each other worker.
// Another worker may hold two blocks: the one whose tasks it runs, and the one to which it has not
// yet returned tasks (TaskSlab::FlushOthers). Of attached threads one is counted. Then each worker
// has workerCount others, and so has the attached thread. With SchedulerOptions::pendingTasks there
// is room for these, too.
uint32_t SlabBlocks(const Scheduler &scheduler) noexcept {
    // if there are many others, few of them are so slow at the same time
    constexpr uint32_t kEnough = 7;
    constexpr uint32_t kLeast = TaskSlab::LeastOfBlock();
    const uint32_t ofTasks = (scheduler.options.pendingTasks + kLeast - 1) / kLeast;
    return std::min(1 + 2 * scheduler.workerCount, kEnough) + ofTasks;
}

bool TryAcquireQueues(Worker &worker) noexcept {
    const Memory memory = worker.scheduler->memory;
    if (!worker.slab.Acquire(SlabBlocks(*worker.scheduler), memory)) return false;
    return AcquireSet(worker, 0);
}

}  // namespace

bool AcquireQueues(Worker &worker) noexcept {
    if (TryAcquireQueues(worker)) return true;
    ReleaseQueues(worker);  // so that the next attempt starts from nothing
    return false;
}

}  // namespace weft::internal
