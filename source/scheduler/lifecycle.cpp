// The end of a run. A worker that finds nothing pending sets `stopping` and wakes all; each loop fiber then goes to the
// pool and its thread to its own stack, where ThreadMain returns. Pool fibers are parked in their loops at that time. When
// all threads are joined, the caller of Run switches once to every fiber that ever ran: with `ending` set its loop
// returns, so that each stack ends properly and the checkers' records of it are freed.
#include "scheduler/lifecycle.h"

#include "mechanisms/scheduler_tags.h"
#include "platform/memory.h"
#include "scheduler/claim.h"
#include "scheduler/idle.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/scheduler.h"
#include "scheduler/worker_loop.h"

#include <algorithm>

namespace weft::internal {

namespace {

Times MeasureTimes() noexcept {
    const double ticks = env::TicksPerMicrosecond();
    const auto microseconds = [ticks](double us) { return static_cast<uint64_t>(us * ticks); };
    Times times{};
    times.claimBudget = microseconds(3);
    times.idleSearch = microseconds(100);
    times.profitableSteal = microseconds(1);
    times.firstPenalty = std::max<uint64_t>(microseconds(0.2), 1);  // it is doubled
    times.maxStealPenalty = microseconds(20);
    times.maxEmptyPenalty = microseconds(2);
    return times;
}

Status AcquireStacks(Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    const auto withColour = [](size_t bytes) { return bytes + std::min(Fiber::kColourBytes, SIZE_MAX - bytes); };
    const size_t small = withColour(options.smallStackBytes);
    const size_t large = withColour(options.largeStackBytes);
    const Status status = scheduler.smallStacks.Acquire(options.smallFibers, small);
    return status != Status::Ok ? status : scheduler.largeStacks.Acquire(options.largeFibers, large);
}

bool AcquireWorkers(Scheduler &scheduler) noexcept {
    scheduler.workers = AllocateArray<Worker>(scheduler.workerCount);
    if (scheduler.workers == nullptr) return false;
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        Worker &worker = scheduler.workers[i];
        worker.scheduler = &scheduler;
        worker.index = i;
        worker.victim = (i + 1) % scheduler.workerCount;
        if (!worker.slab.Acquire() || !worker.ready.Acquire(64) || !worker.largeBacklog.Acquire(16)) return false;
        for (WorkStealingDeque<TaskEntry> &lane : worker.lanes) {
            if (!lane.Acquire(256)) return false;
        }
    }
    return true;
}

bool AcquireFibers(Scheduler &scheduler) noexcept {
    const uint32_t small = scheduler.options.smallFibers;
    const uint32_t count = scheduler.FiberCount();
    scheduler.fibers = AllocateArray<Fiber>(count);
    if (scheduler.fibers == nullptr) return false;
    for (uint32_t i = 0; i < count; ++i) {
        const StackMemory &stacks = i < small ? scheduler.smallStacks : scheduler.largeStacks;
        scheduler.fibers[i] = Fiber(i, stacks.Bottom(i < small ? i : i - small), stacks.StackBytes());
        scheduler.fibers[i].Reset(FiberMain, &scheduler.fibers[i]);
    }
    return true;
}

Status Acquire(Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    const Status status = AcquireStacks(scheduler);
    if (status != Status::Ok) return status;
    const uint32_t fibers = options.smallFibers + options.largeFibers;
    const bool acquired = scheduler.pool.Acquire(options.smallFibers, options.largeFibers, scheduler.workerCount) &&
                          scheduler.idle.Acquire(scheduler.workerCount) &&
                          scheduler.counters.Acquire(fibers, scheduler.tag.Acquire()) && AcquireWorkers(scheduler) &&
                          AcquireFibers(scheduler);
    return acquired ? Status::Ok : Status::OutOfMemory;
}

void Release(Scheduler &scheduler) noexcept {
    for (uint32_t i = 0; i < scheduler.FiberCount() && scheduler.fibers != nullptr; ++i) {
        scheduler.fibers[i].context.Destroy();
    }
    FreeArray(scheduler.fibers, scheduler.FiberCount());
    FreeArray(scheduler.workers, scheduler.workerCount);
    scheduler.tag.Release();
}

// Ends every fiber that ever ran; see the top of this file. The caller is worker 0, on its own stack.
void EndFibers(Scheduler &scheduler) noexcept {
    Worker &worker = scheduler.workers[0];
    scheduler.ending = true;
    worker.current = &worker.threadFiber;
    for (uint32_t i = 0; i < scheduler.FiberCount(); ++i) {
        Fiber &fiber = scheduler.fibers[i];
        if (!fiber.HasRun()) continue;
        fiber.worker = &worker;
        SwitchContext(worker.threadFiber.context, fiber.context);
    }
}

void WorkerThread(void *arg) { ThreadMain(static_cast<Worker *>(arg), nullptr); }

void MainTask(TaskScheduler *facade, void *arg) {
    // Also when it throws.
    struct Returning {
        Scheduler *scheduler;
        ~Returning() { scheduler->mainReturned.store(true, kSeqCst); }  // seq_cst: see Sleep
    } const returning{static_cast<Scheduler *>(arg)};
    returning.scheduler->main.function(facade, returning.scheduler->main.arg);
}

// Worker 0 begins with the main task claimed, on a fiber of its class.
Fiber *PrepareMain(Scheduler &scheduler, const TaskOptions &options) noexcept {
    Worker &worker = scheduler.workers[0];
    worker.submitted.store(1, kRelaxed);  // no other thread exists
    ClaimEntry(&worker, TaskEntry::Single({MainTask, &scheduler}, nullptr, options.name, options.stack),
               static_cast<uint32_t>(options.priority), false);
    return &scheduler.fibers[scheduler.pool.AcquireFiber(options.stack, 0)];
}

uint32_t StartThreads(Scheduler &scheduler) noexcept {
    for (uint32_t i = 1; i < scheduler.workerCount; ++i) {
        Worker &worker = scheduler.workers[i];
        if (!worker.thread.Start(WorkerThread, &worker, scheduler.options.threadStackBytes)) return i;
    }
    return scheduler.workerCount;
}

Status RunThreads(Scheduler &scheduler, const TaskOptions &mainOptions) noexcept {
    Worker &worker = scheduler.workers[0];
    Fiber *first = PrepareMain(scheduler, mainOptions);
    void *const outer = env::ThreadSlot();  // the caller may be a task of another scheduler
    const uint32_t started = StartThreads(scheduler);
    if (started == scheduler.workerCount) {
        ThreadMain(&worker, first);
    } else {
        worker.claim.left = 0;                    // the main task does not run
        scheduler.stopping.store(true, kSeqCst);  // before they are woken
        WakeAll(scheduler);
    }
    for (uint32_t i = 1; i < started; ++i) scheduler.workers[i].thread.Join();
    if (started == scheduler.workerCount) {
        WEFT_INVARIANT(scheduler, PendingTasks(scheduler) == 0, "a submitted task runs exactly once");
    }
    worker.threadFiber.context.Adopt();
    EndFibers(scheduler);
    env::SetThreadSlot(outer);
    return started == scheduler.workerCount ? Status::Ok : Status::ThreadFailed;
}

Status BadOption(const SchedulerOptions &options, const char *cure, const char *name) noexcept {
    ReportMistake(options, ReportCode::BadOption, cure, "SchedulerOptions::%s is out of range", name);
    return Status::BadOption;
}

}  // namespace

uint32_t EffectiveWorkers(const SchedulerOptions &options) noexcept {
    return options.workers == kAnyWorker ? env::UsableCpus() : options.workers;
}

Status CheckOptions(const SchedulerOptions &options) noexcept {
    if (options.structBytes != sizeof(SchedulerOptions)) {
        return BadOption(options, "Compile with the headers of the library that you link.", "structBytes");
    }
    const uint32_t workers = EffectiveWorkers(options);
    if (workers < 1 || workers > 1024) return BadOption(options, "Give 1 to 1024, or kAnyWorker.", "workers");
    const auto fibersAreBad = [](uint32_t count) { return count < 1 || count > 1000000; };
    if (fibersAreBad(options.smallFibers)) return BadOption(options, "Give 1 to 1,000,000.", "smallFibers");
    if (fibersAreBad(options.largeFibers)) return BadOption(options, "Give 1 to 1,000,000.", "largeFibers");
    constexpr size_t kMinStack = 16 << 10, kMinThreadStack = 64 << 10;
    if (options.smallStackBytes < kMinStack) return BadOption(options, "Give 16 KiB or more.", "smallStackBytes");
    if (options.largeStackBytes < kMinStack) return BadOption(options, "Give 16 KiB or more.", "largeStackBytes");
    if (options.threadStackBytes < kMinThreadStack)
        return BadOption(options, "Give 64 KiB or more.", "threadStackBytes");
    if (options.idle > IdlePolicy::Quiet) return BadOption(options, "Give one of IdlePolicy's values.", "idle");
    return Status::Ok;
}

Status RunScheduler(TaskScheduler &facade, const SchedulerOptions &options, const Task &main,
                    const TaskOptions &mainOptions) noexcept {
    Scheduler *scheduler = AllocateArray<Scheduler>(1);
    if (scheduler == nullptr) return Status::OutOfMemory;
    scheduler->facade = &facade;
    scheduler->options = options;
    scheduler->workerCount = EffectiveWorkers(options);
    scheduler->times = MeasureTimes();
    scheduler->main = main;
    Status status = Acquire(*scheduler);
    if (status == Status::Ok) {
        Scheduler::OpenGate(facade, scheduler);
        status = RunThreads(*scheduler, mainOptions);
    }
    Scheduler::CloseGate(facade);
    Release(*scheduler);
    FreeArray(scheduler, 1);
    return status;
}

}  // namespace weft::internal
