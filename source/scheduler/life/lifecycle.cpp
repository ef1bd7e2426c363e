// Runs: their beginning and their end. The steps of the end:
// 1. A worker that finds nothing pending closes the gate, sets `stopping` and wakes all (EndRun).
// 2. Each loop gives its fiber to the pool and switches to its thread's own stack, where ThreadLoop
//    returns. At that time all pool fibers are suspended in their loops.
// 3. When all threads are joined, the caller of Run sets `ending` and switches once to every fiber
//    that ever ran. The fiber's loop then returns. So each stack ends properly, and the sanitizers
//    free their records of it.
#include "scheduler/life/life.h"

#include "platform/backoff.h"
#include "platform/floating_point.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/policy/ordered.h"
#include "scheduler/policy/places.h"
#include "scheduler/run/run.h"
#include "scheduler/state/check_options.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/external.h"
#include "scheduler/wait/wait.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

Status ReportNoQueues(const SchedulerOptions &options) noexcept {
    ReportMistake(options, ReportCode::OutOfMemory,
                  "Lower these options, or give the process more memory. MemoryHooks::allocate, if "
                  "it is set, must return memory with the alignment that it is asked for.",
                  "the scheduler cannot start: there is no memory for the queues of %u workers and "
                  "%u fibers (SchedulerOptions::workers, fibers)",
                  EffectiveWorkers(options), options.fibers);
    return Status::OutOfMemory;
}

// A stack is twice as large as each task is guaranteed: for the task itself, and for a task of its
// counter that it runs inline on top of its own frames.
Status AcquireStacks(Scheduler &scheduler) noexcept {
    constexpr size_t kReserveStack = 64 << 10;  // no task runs on it
    const SchedulerOptions &options = scheduler.options;
    const MemoryHooks *hooks = options.memory.reserveStacks != nullptr ? &options.memory : nullptr;
    const size_t bytes = 2 * options.stackBytes + Fiber::kColourBytes;
    Status status = scheduler.fibers.stacks.Acquire(scheduler.fibers.count, bytes, hooks);
    if (status == Status::Ok)
        status = scheduler.fibers.reserveStacks.Acquire(options.maxAttached, kReserveStack, hooks);
    if (status == Status::Ok) return status;
    const bool isOfMappings = status == Status::OutOfMappings;
    ReportMistake(options, ReportCode::OutOfMemory,
                  isOfMappings ? "Lower the number of stacks, or raise vm.max_map_count."
                               : "Lower these options, or give the process more memory.",
                  "the scheduler cannot start: %s %u stacks of %zu bytes "
                  "(SchedulerOptions::fibers, stackBytes)",
                  isOfMappings ? "the system refuses more memory mappings, for the guard pages of"
                               : "there is no memory for",
                  scheduler.fibers.count, options.stackBytes);
    return status;
}

// Copies the masks of CPUs, because the host's need not live until the last thread has read its.
bool CopyMasks(Scheduler &scheduler) noexcept {
    Affinity &affinity = scheduler.options.affinity;
    const auto forEach = [&](auto use) {
        if (affinity.kind == Affinity::Kind::Explicit)
            use(affinity.masks, size_t{scheduler.workerCount} * affinity.maskWords);
        for (uint32_t i = 0; i < scheduler.options.groupCount; ++i) {
            WorkerGroup &group = scheduler.groups[i];
            if (group.cpus != nullptr) use(group.cpus, group.cpuWords);
        }
    };
    forEach([&](const uint64_t *, size_t words) { scheduler.threads.maskWords += words; });
    if (scheduler.threads.maskWords == 0) return true;
    uint64_t *end = scheduler.threads.masks =
        scheduler.memory.NewArray<uint64_t>(scheduler.threads.maskWords);
    if (end == nullptr) return false;
    forEach([&](const uint64_t *&mask, size_t words) {
        end = std::copy_n(std::exchange(mask, end), words, end);
    });
    return true;
}

// The function of an attached thread's reserve stack.
FiberContext *ReserveMain(void *arg) noexcept {
    Fiber &self = *static_cast<Fiber *>(arg);
    FinishSwitch(*self.worker);
    ThreadLoop(*self.worker);
    return self.worker->scheduler->ending;
}

// Without workers only one thread may be attached.
void PrepareSlot(Scheduler &scheduler, Worker &worker) noexcept {
    const uint32_t slot = worker.index - scheduler.workerCount;
    worker.thread.index = slot;  // for Prepare
    const StackMemory &stacks = scheduler.fibers.reserveStacks;
    worker.thread.SetStack(stacks.Bottom(slot), stacks.StackBytes(), scheduler.options.stackBytes);
    worker.thread.Prepare(ReserveMain);
    if (scheduler.workerCount != 0 || slot == 0) scheduler.freeSlots.Set(slot);
}

bool AcquireWorkers(Scheduler &scheduler) noexcept {
    scheduler.workers = scheduler.memory.NewArray<Worker>(scheduler.slotCount);
    if (scheduler.workers == nullptr ||
        !scheduler.freeSlots.Acquire(scheduler.options.maxAttached, scheduler.memory))
        return false;
    // the first capacity of a deque: each entry has a pending task that no other entry has
    uint64_t entries = 256;
    while (entries < scheduler.options.pendingTasks) entries *= 2;
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        Worker &worker = scheduler.workers[i];
        worker.scheduler = &scheduler;
        worker.taskScheduler = scheduler.taskScheduler;
        worker.home = scheduler.forkMark.Place();
        worker.index = i;
        if (scheduler.options.migrateAfterWait) worker.submitBits = kMigrates;
        worker.thief.random = i * 2654435761u + 1;
        for (uint32_t levels = LevelsOf(SlotsInUse(scheduler)); levels != 0; levels &= levels - 1) {
            if (!worker.queue[LowestBit(levels)].Acquire(entries, 0, scheduler.memory))
                return false;
        }
        if (scheduler.IsAttachedSlot(i)) PrepareSlot(scheduler, worker);
    }
    AssignGroups(scheduler);
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) NoteFilter(scheduler.workers[i]);
    return CopyMasks(scheduler);
}

bool AcquireFibers(Scheduler &scheduler) noexcept {
    FiberPool &fibers = scheduler.fibers;
    fibers.all = scheduler.memory.NewArray<Fiber>(scheduler.AllFibers());
    if (fibers.all == nullptr) return false;
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        fibers[i].index = fibers[i].wait.timer.owner = i;
        if (i >= fibers.count) continue;  // an attached thread's own stack
        fibers[i].SetStack(fibers.stacks.Bottom(i), fibers.stacks.StackBytes(),
                           scheduler.options.stackBytes);
        // before any task: otherwise the race finder would order the fiber after a task
        if (race::kFinder) fibers[i].Prepare(FiberMain);
    }
    return fibers.free.Acquire(fibers.count, scheduler.memory);
}

// With SchedulerOptions::pendingTasks each pool has so many objects, and one for each worker and
// slot. Large chunks are an exception: only submissions of more tasks use them.
bool AcquirePools(Scheduler &scheduler) noexcept {
    const Memory memory = scheduler.memory;
    const uint32_t users = scheduler.slotCount, tasks = scheduler.options.pendingTasks;
    const uint32_t items = tasks != 0 ? tasks + users : 0;
    // if more threads than kMaxItems wait, the rest of them poll
    const uint32_t threads = std::clamp(tasks, 1u, decltype(Pools::threadWaiters)::kMaxItems);
    Pools &pools = scheduler.pools;
    // thieves of traced tasks fill their caches at the same time
    return pools.singles.Acquire(users, memory, std::max(items, 2 * users)) &&
           pools.chunks.Acquire(users, memory, items) && pools.largeChunks.Acquire(users, memory) &&
           pools.closures.Acquire(users, memory, items) &&
           pools.deferred.Acquire(users, memory, items) &&
           pools.anyRecords.Acquire(users, memory, items) &&
           pools.threadWaiters.Acquire(memory, threads) &&
           scheduler.counters.Acquire(scheduler.AllFibers(), scheduler.tag.Acquire(), memory, users,
                                      &scheduler.notices, items);
}

Status Acquire(Scheduler &scheduler) noexcept {
    const Status status = AcquireStacks(scheduler);
    if (status != Status::Ok) return status;
    const bool acquired = scheduler.idle.Acquire(scheduler.slotCount, scheduler.memory) &&
                          AcquirePools(scheduler) && AcquireWorkers(scheduler) &&
                          AcquireFibers(scheduler) && BeginTracing(scheduler) &&
                          BeginOrder(scheduler) && BeginFaultReports(scheduler);
    return acquired ? Status::Ok : ReportNoQueues(scheduler.options);
}

void DeleteScheduler(Scheduler &scheduler) noexcept {
    if (scheduler.options.lockHolders) watchedRuns.fetch_sub(1, kRelaxed);
    scheduler.tag.Release();  // from here on no thread finds the scheduler by its tag
    for (uint32_t i = 0; i < scheduler.fibers.count && scheduler.fibers.all != nullptr; ++i)
        scheduler.fibers[i].context.Destroy();
    for (uint32_t i = scheduler.workerCount;
         i < scheduler.slotCount && scheduler.workers != nullptr; ++i)
        scheduler.workers[i].thread.context.Destroy();
    const Memory memory = scheduler.memory;
    EndTracing(scheduler);
    EndOrder(scheduler);
    EndFaultReports(scheduler);
    memory.DeleteArray(scheduler.fibers.all, scheduler.AllFibers());
    memory.DeleteArray(scheduler.workers, scheduler.slotCount);
    memory.DeleteArray(scheduler.threads.masks, scheduler.threads.maskWords);
    memory.DeleteArray(&scheduler, 1);
}

// Starts the threads of the workers from `first` on, and the watchdog. If one does not start, ends
// those that did.
bool StartThreads(Scheduler &scheduler, uint32_t first) noexcept {
    if (!StartWatchdog(scheduler)) return false;
    // relaxed, to the loop: the run has not begun
    const uint32_t present = scheduler.options.hostThreads ? first : scheduler.workerCount;
    scheduler.absent.store(scheduler.workerCount - present, kRelaxed);
    for (uint32_t i = 0; i < present; ++i) {
        scheduler.workers[i].rest.kind.store(Rest::kNone, kRelaxed);
        scheduler.workers[i].hasThread.store(true, kRelaxed);
    }
    if (scheduler.options.hostThreads) return true;
    scheduler.threads.startCpu =
        scheduler.workerCount <= env::UsableCpus() ? env::CurrentCpu() : -1;
    uint32_t next = first;
    while (next < scheduler.workerCount &&
           scheduler.workers[next].osThread.Start(WorkerThread, &scheduler.workers[next],
                                                  scheduler.options.threadStackBytes))
        ++next;
    if (next >= scheduler.workerCount) return true;
    scheduler.stopping.store(true, kSeqCst);  // [order]
    WakeAll(scheduler, nullptr);
    for (uint32_t i = next; i != first; --i) scheduler.workers[i - 1].osThread.Join();
    EndWatchdog(scheduler);
    ReportMistake(scheduler.options, ReportCode::BadOption,
                  "Lower these options, or raise the limits of the process.",
                  "the scheduler cannot start: the system refuses the thread of worker %u of %u, "
                  "with a stack of %zu bytes (SchedulerOptions::workers, threadStackBytes)",
                  next, scheduler.workerCount, scheduler.options.threadStackBytes);
    return false;
}

// Makes a scheduler and starts its threads. `main`: the task of Run, or null. A worker that looks
// for work has a fiber of the pool, too. So there is one for each worker in addition to those that
// the options ask for.
Status NewScheduler(TaskScheduler &taskScheduler, const Task &main,
                    Scheduler *&scheduler) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    const Memory memory(options.memory);
    scheduler = memory.NewArray<Scheduler>(1);
    if (scheduler == nullptr) return ReportNoQueues(options);
    scheduler->taskScheduler = &taskScheduler;
    scheduler->main = main;
    scheduler->options = options;
    SetDefaults(scheduler->options);
    scheduler->memory = memory;
    scheduler->forkMark.Acquire(&taskScheduler);
    scheduler->workerCount = scheduler->options.workers;
    scheduler->slotCount = scheduler->workerCount + options.maxAttached;
    scheduler->fibers.count = scheduler->options.fibers + scheduler->slotCount;
    scheduler->lateEnd.timer.owner = kEndOwner;
    scheduler->slotsInUse.store(scheduler->workerCount, kRelaxed);  // nobody else knows it yet
    scheduler->tuning.millisecond = static_cast<uint64_t>(env::TicksPerMicrosecond() * 1000);
    scheduler->tuning.shortPick =
        std::max<uint64_t>(scheduler->tuning.millisecond / 10 / Fairness::kShortPicks, 1) - 1;
    scheduler->threads.floatingPoint = FloatingPointControl();
    // with an order, so that each lock is a scheduling point
    if (options.order != 0) scheduler->options.lockHolders = true;
    if (scheduler->options.lockHolders) watchedRuns.fetch_add(1, kRelaxed);
    Status status = Acquire(*scheduler);
    if (status == Status::Ok) {
        scheduler->tag.Publish(scheduler);
        if (!StartThreads(*scheduler, main.function != nullptr ? 1 : 0))
            status = Status::ThreadFailed;
    }
    if (status != Status::Ok) DeleteScheduler(*scheduler);
    return status;
}

void EndFibers(Scheduler &scheduler) noexcept {
    FiberContext here;
    here.Adopt();
    scheduler.ending = &here;
    const auto end = [&](Fiber &fiber) {
        if (fiber.worker == nullptr) return;  // it never ran
        fiber.worker = &scheduler.workers[0];
        fiber.begins = true;
        scheduler.workers[0].destination = Destination::None;
        SwitchContext(here, fiber.context);
    };
    for (uint32_t i = 0; i < scheduler.fibers.count; ++i) {
        // of a run that is given up, only the free fibers are in their loops
        if (!IsGivenUp(scheduler) || IsFree(scheduler, i)) end(scheduler.fibers[i]);
    }
    for (uint32_t i = scheduler.workerCount; i < scheduler.slotCount; ++i)
        end(scheduler.workers[i].thread);
    scheduler.ending = nullptr;
}

// Waits until no thread of the host runs a worker from `first` on.
void AwaitHostThreads(Scheduler &scheduler, uint32_t first) noexcept {
    // acquire: of each thread that has left, this one sees everything. The read-modify-writes form
    // a release sequence.
    while (scheduler.absent.load(kAcquire) != scheduler.workerCount - first)
        scheduler.hostThreadLeft.Park();
    // The last one may still be about to go out.
    for (Backoff backoff; !EntryGate::NobodyInside(*scheduler.taskScheduler); backoff.Next()) {
    }
}

// Joins the threads of the workers from `first` on, and ends all fibers.
void JoinThreads(Scheduler &scheduler, uint32_t first) noexcept {
    if (scheduler.options.hostThreads)
        AwaitHostThreads(scheduler, first);
    else
        for (uint32_t i = first; i < scheduler.workerCount; ++i)
            scheduler.workers[i].osThread.Join();
    EndWatchdog(scheduler);
    WEFT_INVARIANT(scheduler, PendingTasks(scheduler) == 0 || IsGivenUp(scheduler),
                   "a submitted task runs exactly once");
    EndFibers(scheduler);
    race::SawAll(&scheduler);
}

// Without workers the caller of Stop attaches itself and runs the work that is left. That includes
// work that threads which are blocked in a call wait for.
void DrainWithoutWorkers(Scheduler &scheduler) noexcept {
    do {
        // Another thread that has just taken the slot may not be counted as attached yet.
        for (Backoff backoff; Attach(scheduler, true) != Status::Ok; backoff.Next())
            AwaitDetached(scheduler);
        Worker &worker = *CurrentWorker();
        Wait(worker, {scheduler.guests.left, 1});  // the one guest that is left is the caller
        WaitIdle({scheduler, worker.current, nullptr});
        Detach(worker);
    } while (!EndRun(scheduler, nullptr));
}

// Runs the main task of Run, and then ends the run.
void MainTask(TaskScheduler *taskScheduler, void *arg) {
    // also if the task throws
    struct Returning {
        Scheduler *scheduler;
        ~Returning() { WantEnd(*scheduler, CurrentWorker()); }
    } const returning{static_cast<Scheduler *>(arg)};
    returning.scheduler->main.function(taskScheduler, returning.scheduler->main.arg);
}

// Submits the task so that it begins on this worker: it goes to the first fiber of the worker,
// where no other worker finds it. There is a free fiber: each worker has taken one at most.
void BeginWith(Worker &worker, const Task &task, const TaskOptions &options) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    const TasksOf of = TasksWith(&worker, nullptr, options);
    const Level level = LevelOf(scheduler, &worker, options);
    race::Submitted(1, &task);
    CountTasks(scheduler, &worker, 1, nullptr, options);
    const uint32_t number =
        IsTraced(scheduler) ? TraceSubmit(scheduler, &worker, 1, &task, of, level) : 0;
    worker.comesNext =
        AcquireFiber(worker, {Entry::Of(task, of, number), level, options.worker != kAnyWorker});
}

}  // namespace

Status RunScheduler(TaskScheduler &taskScheduler, const Task &main,
                    const TaskOptions &mainOptions) noexcept {
    Scheduler *scheduler;
    const Status status = NewScheduler(taskScheduler, main, scheduler);
    if (status != Status::Ok) return status;
    Worker &worker = scheduler->workers[0];
    worker.outerSlot = env::ThreadSlot();  // the caller may be a task of another scheduler
    // The main task comes last: it may end the run, which closes the gate.
    EntryGate::Open(taskScheduler, scheduler);
    worker.current = &worker.thread;
    BeginWith(worker, {MainTask, scheduler}, mainOptions);
    worker.floatingPoint = FloatingPointControl();
    race::ThreadBegan(&worker);
    // A new thread may be queued on this CPU. It moves away when it runs for the first time.
    if (scheduler->workerCount > 1 && !scheduler->options.hostThreads) env::YieldThread();
    ThreadMain(worker);
    JoinThreads(*scheduler, 1);
    DeleteScheduler(*scheduler);
    return Status::Ok;
}

Status StartScheduler(TaskScheduler &taskScheduler) noexcept {
    Scheduler *scheduler;
    const Status status = NewScheduler(taskScheduler, {nullptr, nullptr}, scheduler);
    if (status != Status::Ok) return status;
    EntryGate::StateOf(taskScheduler).started = scheduler;
    EntryGate::Open(taskScheduler, scheduler);
    return Status::Ok;
}

bool StopScheduler(TaskScheduler &taskScheduler, uint64_t withdrawsAt) noexcept {
    Scheduler &scheduler = *EntryGate::StateOf(taskScheduler).started;  // only this call ends it
    WantEnd(scheduler, nullptr, withdrawsAt);
    if (IsGivenUp(scheduler)) {
        EntryGate::Close(taskScheduler, [] { return true; });
        scheduler.stopping.store(true, kSeqCst);
    } else if (scheduler.workerCount == 0)
        DrainWithoutWorkers(scheduler);
    else if (scheduler.options.hostThreads)
        RunAbsentWorkers(scheduler);
    else
        WakeOne(scheduler, nullptr, kPlainLevels);
    JoinThreads(scheduler, 0);
    const bool isComplete = !scheduler.lateEnd.hasWithdrawn;
    DeleteScheduler(scheduler);
    return isComplete;
}

}  // namespace weft::internal
