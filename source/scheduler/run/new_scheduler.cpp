// Implements new_scheduler.h: acquires the parts of a scheduler one by one. After a failure
// DeleteScheduler releases the parts that exist.
#include "scheduler/run/new_scheduler.h"

#include "core/recorder_access.h"
#include "core/scheduler_tags.h"
#include "core/stack_meter_access.h"
#include "platform/floating_point.h"
#include "platform/memory.h"
#include "scheduler/run/worker_loop.h"
#include "scheduler/state/check_options.h"
#include "scheduler/state/debug_root.h"
#include "scheduler/state/describe_fault.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr size_t kReserveStack = 64 << 10;  // no task runs on it

// The stacks that some options ask for.
struct StackOrder {
    StackMemory &stacks;
    uint32_t count;
    size_t bytes;   // of each stack
    size_t mapped;  // bytes of each stack that are mapped
    const char *options;
};

// Returns Ok, or another status after a report.
Status AcquireStacks(const SchedulerOptions &options, const StackOrder &order) noexcept {
    const MemoryHooks *hooks = options.memory.reserveStacks != nullptr ? &options.memory : nullptr;
    const Status status = order.stacks.Acquire(order.count, order.mapped, hooks);
    if (status == Status::Ok) return status;
    const bool isOfMappings = status == Status::OutOfMappings;
    ReportMistake(options, ReportCode::OutOfMemory,
                  isOfMappings ? "Lower the number of stacks, or raise vm.max_map_count."
                               : "Lower these options, or give the process more memory.",
                  "the scheduler cannot start: %s %u stacks of %zu bytes (SchedulerOptions::%s)",
                  isOfMappings ? "the system refuses more memory mappings, for the guard pages of"
                               : "there is no memory for",
                  order.count, order.bytes, order.options);
    return status;
}

Status AcquireStacks(Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    // A stack is twice as large as its class: for the task itself, and for a task of its counter
    // that it runs inline on top of its own frames (run_inline.h).
    const auto withRoom = [](size_t bytes) {
        const size_t both = bytes + std::min(bytes, SIZE_MAX - bytes);
        return both + std::min(Fiber::kColourBytes, SIZE_MAX - both);
    };
    const StackOrder orders[] = {
        {scheduler.smallStacks, options.smallFibers, options.smallStackBytes,
         withRoom(options.smallStackBytes), "smallFibers, smallStackBytes"},
        {scheduler.largeStacks, options.largeFibers, options.largeStackBytes,
         withRoom(options.largeStackBytes), "largeFibers, largeStackBytes"},
        {scheduler.reserveStacks, options.maxAttached, kReserveStack, kReserveStack, "maxAttached"},
    };
    for (const StackOrder &order : orders) {
        const Status status = AcquireStacks(options, order);
        if (status != Status::Ok) return status;
    }
    return Status::Ok;
}

// Reports that there is no memory for anything but stacks.
Status ReportNoQueues(const SchedulerOptions &options) noexcept {
    ReportMistake(
        options, ReportCode::OutOfMemory,
        "Lower these options, or give the process more memory. MemoryHooks::allocate, if it is "
        "set, must return memory with the alignment that it is asked for.",
        "the scheduler cannot start: there is no memory for the queues of %u workers, %u "
        "threads that may attach, %u fibers and %u pending tasks (SchedulerOptions::workers, "
        "maxAttached, smallFibers, largeFibers, pendingTasks)",
        EffectiveWorkers(options), options.maxAttached, options.smallFibers + options.largeFibers,
        options.pendingTasks);
    return Status::OutOfMemory;
}

// Acquires the pools. With pendingTasks, each has so many objects, and one for each worker and
// attached thread, which may be late to give it back. The pools add what lies in caches.
bool AcquirePools(Scheduler &scheduler, uint32_t fibers) noexcept {
    const Memory memory = scheduler.memory;
    const uint32_t users = scheduler.slotCount, tasks = scheduler.options.pendingTasks;
    const uint32_t items = tasks != 0 ? tasks + users : 0;
    // a thread gives back many blocks at once (ReadBlocks)
    constexpr uint32_t kLate = SegmentPool<TaskBlock>::Returns::kMost;
    const uint32_t blocks = tasks != 0 ? tasks + users * kLate : 0;
    // if more threads than kMaxItems wait, the rest of them poll
    const uint32_t threads = std::min(tasks, decltype(Scheduler::threadWaiters)::kMaxItems);
    return scheduler.singles.Acquire(users, memory, blocks) &&
           scheduler.blocks.Acquire(0, memory, blocks) &&
           scheduler.threadWaiters.Acquire(memory, threads) &&
           scheduler.anyWaits.Acquire(users, memory, items) &&
           scheduler.timedTasks.Acquire(users, memory, items) &&
           scheduler.closures.Acquire(users, memory, items) &&
           scheduler.batches.Acquire(memory, items) &&
           scheduler.counters.Acquire(fibers, scheduler.tag.Acquire(), memory, users,
                                      &scheduler.notices, items);
}

// Acquires what AttachThread would acquire for this slot.
bool AcquireAttached(Worker &worker) noexcept {
    const Scheduler &scheduler = *worker.scheduler;
    return AcquireQueues(worker) &&
           (!scheduler.options.reportStackOverflow || worker.signalStack.Acquire(scheduler.memory));
}

bool AcquireWorkers(Scheduler &scheduler) noexcept {
    scheduler.workers = scheduler.memory.NewArray<Worker>(scheduler.slotCount);
    if (scheduler.workers == nullptr ||
        !scheduler.freeSlots.Acquire(scheduler.options.maxAttached, scheduler.memory))
        return false;
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        Worker &worker = scheduler.workers[i];
        worker.scheduler = &scheduler;
        worker.taskScheduler = scheduler.taskScheduler;
        worker.home = scheduler.forkMark.Place();
        worker.index = i;
        worker.aging.lookedAt = worker.aging.inspectedAt =
            scheduler.workerCount != 0 ? env::Ticks() : 0;
        worker.victim = (i + 1) % scheduler.slotCount;
        if (!scheduler.IsAttachedSlot(i)) {
            if (!AcquireQueues(worker) || !worker.signalStack.Acquire(scheduler.memory))
                return false;
        } else {
            const uint32_t slot = i - scheduler.workerCount;
            worker.threadFiber = Fiber(kAnyWorker, scheduler.reserveStacks.Bottom(slot),
                                       scheduler.reserveStacks.StackBytes());
            worker.threadFiber.Reset(ReserveMain, &worker.threadFiber);
            if (scheduler.workerCount == 0 && slot != 0) continue;  // never used
            // without workers, Stop needs these queues
            const bool isEarly = scheduler.workerCount == 0 || scheduler.options.pendingTasks != 0;
            if (isEarly && !AcquireAttached(worker)) return false;
            scheduler.freeSlots.Set(slot);
        }
    }
    return true;
}

bool AcquireFibers(Scheduler &scheduler) noexcept {
    const uint32_t small = scheduler.options.smallFibers;
    const uint32_t count = scheduler.FiberCount();
    scheduler.fibers = scheduler.memory.NewArray<Fiber>(scheduler.AllFibers());
    if (scheduler.fibers == nullptr) return false;
    for (uint32_t i = count; i < scheduler.AllFibers(); ++i)
        scheduler.fibers[i].index = i;  // fibers of attached threads' own stacks
    for (uint32_t i = 0; i < count; ++i) {
        const StackMemory &stacks = i < small ? scheduler.smallStacks : scheduler.largeStacks;
        scheduler.fibers[i] =
            Fiber(i, stacks.Bottom(i < small ? i : i - small), stacks.StackBytes());
        scheduler.fibers[i].Reset(FiberMain, &scheduler.fibers[i]);
    }
    return true;
}

Status Acquire(Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    const Status status = AcquireStacks(scheduler);
    if (status != Status::Ok) return status;
    const uint32_t fibers = options.smallFibers + options.largeFibers + options.maxAttached;
    const Memory memory = scheduler.memory;
    const bool acquired =
        scheduler.pool.Acquire(options.smallFibers, options.largeFibers, scheduler.workerCount,
                               scheduler.slotCount, memory) &&
        scheduler.idle.Acquire(scheduler.slotCount, memory) && AcquirePools(scheduler, fibers) &&
        AcquireWorkers(scheduler) && AcquireFibers(scheduler) && AcquireGroups(scheduler);
    return acquired ? Status::Ok : ReportNoQueues(options);
}

size_t MaskWords(const Scheduler &scheduler) noexcept {
    return size_t{scheduler.workerCount} * scheduler.options.affinity.maskWords;
}

// Copies the masks, because the host's need not live until the last thread has read its mask.
bool CopyMasks(Scheduler &scheduler) noexcept {
    Affinity &affinity = scheduler.options.affinity;
    if (affinity.kind != Affinity::Kind::Explicit) return true;
    scheduler.masks = scheduler.memory.NewArray<uint64_t>(MaskWords(scheduler));
    if (scheduler.masks == nullptr) return MaskWords(scheduler) == 0;
    std::copy_n(affinity.masks, MaskWords(scheduler), scheduler.masks);
    affinity.masks = scheduler.masks;
    return true;
}

// Prepares the recorder of the options. Reports if its memory is too small.
void BeginRecording(Scheduler &scheduler) noexcept {
    TraceRings *rings = RecorderAccess::Begin(*scheduler.options.recorder, scheduler.slotCount);
    if (rings == nullptr) {
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Give the recorder at least Recorder::LeastBytes.",
                      "the memory of SchedulerOptions::recorder is too small for %u threads; "
                      "nothing is recorded",
                      scheduler.slotCount);
        return;
    }
    rings->workers = scheduler.workerCount;
    rings->smallFibers = scheduler.options.smallFibers;
    rings->largeFibers = scheduler.options.largeFibers;
    rings->smallStackBytes = scheduler.options.smallStackBytes;
    rings->largeStackBytes = scheduler.options.largeStackBytes;
    rings->ticksPerMicrosecond = env::TicksPerMicrosecond();
    rings->ticksAtStart = env::Ticks();
    rings->nanosecondsAtStart = env::Now();
    scheduler.recording = rings;
}

void BeginOrder(Scheduler &scheduler) noexcept {
    scheduler.order.Begin(scheduler.options.order);
    scheduler.options.idle = IdlePolicy::Sleep;  // a search would take real time
    scheduler.options.lockHolders = true;        // so each lock comes to SchedulingPoint
    scheduler.notices.Show(Notices::kOrdered);   // so each wait comes to YieldToUrgentNow
    orderedRuns.fetch_add(1, kRelaxed);
}

}  // namespace

void DeleteScheduler(Scheduler &scheduler) noexcept {
    if (scheduler.order.isOn) orderedRuns.fetch_sub(1, kRelaxed);
    if (scheduler.options.lockHolders) watchedRuns.fetch_sub(1, kRelaxed);
    scheduler.tag.Release();  // from here on no thread finds the scheduler by its tag
    if (scheduler.handlesFaults) env::RemoveFaultHandler();
    for (uint32_t i = 0; i < scheduler.FiberCount() && scheduler.fibers != nullptr; ++i) {
        scheduler.fibers[i].context.Destroy();
    }
    for (uint32_t i = scheduler.workerCount;
         i < scheduler.slotCount && scheduler.workers != nullptr; ++i) {
        scheduler.workers[i].threadFiber.context.Destroy();
    }
    // these options outlive the scheduler's own copy
    const Memory memory(EntryGate::OptionsOf(*scheduler.taskScheduler).memory);
    memory.DeleteArray(scheduler.fibers, scheduler.AllFibers());
    memory.DeleteArray(scheduler.workers, scheduler.slotCount);
    memory.DeleteArray(scheduler.masks, MaskWords(scheduler));
    memory.DeleteArray(scheduler.groupCpus, scheduler.groupCpuWords);
    memory.DeleteArray(&scheduler, 1);
}

Scheduler *NewScheduler(TaskScheduler &taskScheduler, Status &status) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    const Memory memory(options.memory);
    Scheduler *scheduler = memory.NewArray<Scheduler>(1);
    if (scheduler == nullptr) {
        status = ReportNoQueues(options);
        return nullptr;
    }
    scheduler->taskScheduler = &taskScheduler;
    scheduler->debugRoot = DebugRootOfProcess();
    scheduler->options = options;
    SetDefaults(scheduler->options);
    scheduler->memory = memory;
    scheduler->forkMark.Acquire(&taskScheduler);
    scheduler->workerCount = scheduler->options.workers;
    scheduler->slotCount = scheduler->workerCount + options.maxAttached;
    if (options.recorder != nullptr) BeginRecording(*scheduler);
    if (options.stackMeter != nullptr)
        StackMeterAccess::Begin(*options.stackMeter, scheduler->options.smallStackBytes,
                                scheduler->options.largeStackBytes);
    if (options.trace.event != nullptr || scheduler->recording != nullptr ||
        options.stackMeter != nullptr)
        scheduler->trace = &scheduler->options.trace;
    // no other thread knows the scheduler yet
    scheduler->slotsInUse.store(scheduler->workerCount, kRelaxed);
    scheduler->activeWorkers.store(scheduler->workerCount, kRelaxed);
    scheduler->tuning = MakeTuning(options);
    scheduler->floatingPoint = FloatingPointControl();
    scheduler->order.leastInline = options.smallStackBytes;
    if (options.order != 0) BeginOrder(*scheduler);
    if (scheduler->options.lockHolders) watchedRuns.fetch_add(1, kRelaxed);
    status = CopyMasks(*scheduler) ? Acquire(*scheduler) : ReportNoQueues(scheduler->options);
    if (status == Status::Ok) {
        scheduler->tag.Publish(scheduler);
        scheduler->handlesFaults = options.reportStackOverflow && ReportStackOverflows();
        if (options.reportStackOverflow && !scheduler->handlesFaults) {
            ReportMistake(
                options, ReportCode::BadOption, "Let the process handle SIGSEGV and SIGBUS.",
                "SchedulerOptions::reportStackOverflow: the system refused a signal handler");
        }
        return scheduler;
    }
    DeleteScheduler(*scheduler);
    return nullptr;
}

}  // namespace weft::internal
