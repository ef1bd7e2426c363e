// Waits that say what their thread does meanwhile.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/time.h"

#include <chrono>

namespace simulator {

namespace {

constexpr uint32_t kNowhere = ~0u;

// Whoever waits runs nothing on its worker until the wait is over.
void NothingRuns() {
    Counters counters;
    uint32_t done = 0, waitingOn = kNowhere, pinnedRan = 0;
    SchedulerOptions options = Options(2 + Random(2), 6, 2);
    const auto check = [&](TaskScheduler *scheduler) {
        Check(scheduler->CurrentWorker() != waitingOn, "a task runs on a thread that blocks");
    };
    auto leaf = [&](TaskScheduler *scheduler) {
        check(scheduler);
        if (Random(2) != 0) scheduler->Yield();
        check(scheduler);
        ++done;
    };
    auto parent = [&](TaskScheduler *scheduler) {
        check(scheduler);
        const Task tasks[] = {TaskOf(leaf), TaskOf(leaf)};
        scheduler->AddTasksAndWait(2, tasks);
        check(scheduler);
        ++done;
    };
    auto pinned = [&](TaskScheduler *scheduler) {
        check(scheduler);
        ++pinnedRan;
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t round = 1; round <= 2; ++round) {
            Counter *counter = counters.New();
            Counter *ofPinned = counters.New();
            TaskOptions here, any;
            here.worker = scheduler->CurrentWorker();
            any.priority = static_cast<Priority>(Random(3));
            scheduler->AddTask(TaskOf(pinned), ofPinned, here);
            scheduler->AddTask(TaskOf(parent), counter, any);
            scheduler->AddTask(TaskOf(leaf), counter, any);
            const uint32_t worker = waitingOn = scheduler->CurrentWorker();
            scheduler->WaitForCounter(counter, Meanwhile::Nothing);
            waitingOn = kNowhere;
            Check(scheduler->CurrentWorker() == worker, "a wait that blocks its thread ended on another");
            Counters::Kill(counter);
            Check(done == 4 * round, "a wait ended too early");
            scheduler->WaitForCounter(ofPinned);
            Counters::Kill(ofPinned);
        }
    });
    Check(done == 8 && pinnedRan == 2, "a task was lost");
}

// Only the thread that blocks is there to look after its deadline, unless another thread is quicker.
void NothingUntil() {
    Counter byHand(1);
    bool inTime = false, wasLowered = false;
    TaskScheduler *running = nullptr;
    HostThread lowering([&] {
        wasLowered = true;
        running->DecrementCounter(&byHand);
    });
    const bool lowersSoon = Random(2) != 0;
    RunMain(Options(1, 4, 1), [&](TaskScheduler *scheduler) {
        running = scheduler;
        if (lowersSoon) lowering.Start();
        const Clock::time_point deadline = Now() + std::chrono::microseconds(Random(3));
        inTime = WaitForCounterUntil(*scheduler, &byHand, deadline, Meanwhile::Nothing);
        Check(inTime || Now() >= deadline, "a wait gave up before its deadline");
        Check(!inTime || wasLowered, "a wait ended without a reason");
        if (!lowersSoon) lowering.Start();
        lowering.Join();
    });
    Check(byHand.IsZero(), "a decrement was lost");
}

// An attached thread blocks, with tasks in its own queues and some of what it has claimed, and detaches.
void NothingAttached() {
    Counters counters;
    uint32_t done = 0;
    TaskScheduler scheduler(Options(1 + Random(2), 6, 1));
    Check(scheduler.Start() == Status::Ok, "Start failed");
    auto leaf = [&](TaskScheduler *) { ++done; };
    HostThread attached([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        const uint32_t own = scheduler.CurrentWorker();
        uint32_t onOwn = 0;
        auto look = [&](TaskScheduler *running) {
            if (running->CurrentWorker() == own) ++onOwn;
            ++done;
        };
        Counter *counter = counters.New();
        const Task tasks[] = {TaskOf(look), TaskOf(look), TaskOf(look)};
        scheduler.AddTasks(3, tasks, counter);
        scheduler.WaitForCounter(counter, Meanwhile::Nothing);
        Counters::Kill(counter);
        Check(onOwn == 0, "a task ran on a thread that blocks");
        scheduler.AddTask(TaskOf(leaf));
        scheduler.DetachThread();
    });
    attached.Start();
    if (Random(2) != 0) scheduler.WaitIdle();
    attached.Join();
    scheduler.Stop();
    Check(done == 4, "a task was lost");
}

// Each of two tasks blocks its worker until the other one has lowered its counter: what is ready goes on by itself.
void NothingMeets() {
    Counters counters;
    Counter *const lowered[2] = {counters.New(1), counters.New(1)};
    uint32_t done = 0;
    struct Side {
        Counter *own, *other;
    };
    Side sides[2] = {{lowered[0], lowered[1]}, {lowered[1], lowered[0]}};
    auto first = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(sides[0].other);
        scheduler->WaitForCounter(sides[0].own, Meanwhile::Nothing);
        ++done;
    };
    auto second = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(sides[1].other);
        scheduler->WaitForCounter(sides[1].own, Meanwhile::Nothing);
        ++done;
    };
    RunMain(Options(3, 6, 1), [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(TaskOf(first), counter);
        scheduler->AddTask(TaskOf(second), counter);
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
    });
    Check(done == 2, "a task was lost");
}

}  // namespace

std::vector<Model> WaitModels() {
    return {
        {"block_runs_nothing", "a wait with Meanwhile::Nothing; tasks of all priorities, and one that is pinned",
         NothingRuns},
        {"block_until", "the same with a deadline, and a thread that may be quicker", NothingUntil},
        {"block_attached", "the same by an attached thread, which detaches", NothingAttached},
        {"block_meets", "two tasks block their workers until the other one has come", NothingMeets},
    };
}

}  // namespace simulator
