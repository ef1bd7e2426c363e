// Models of the search for stalls (diagnose/stall.cpp). The system may keep a thread from running
// at any place, for longer than stallMilliseconds.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <chrono>

namespace simulator {

namespace {

using std::chrono::microseconds;

// Keeps threads from running for 3 ms, at `most` random places.
void Preempt(uint32_t most) {
    Observe([most, kept = uint64_t{0}]() mutable {
        const uint64_t self = uint64_t{1} << CurrentThread();
        if (most == 0 || (kept & self) != 0 || Random(200) != 0) return;
        --most;
        kept |= self;
        Compute(3000);
        kept &= ~self;
    });
}

SchedulerOptions StallOptions(uint32_t workers, uint32_t fibers) {
    SchedulerOptions options = Options(workers, fibers + 1);
    if (Random(2) != 0) options.idle = IdlePolicy::Spin;
    options.stallMilliseconds = 1;
    return options;
}

// There is always a task that can go on, or a deadline that comes. Nothing may be reported.
void StallHands() {
    const uint32_t workers = 1 + Random(3);
    SchedulerOptions options = StallOptions(workers, 8);
    const WorkerGroup groups[2] = {{nullptr, 1}, {nullptr, workers - 1}};
    if (workers != 1 && Random(3) == 0) {
        options.groups = groups;
        options.groupCount = 2;
    }
    auto leaf = [](TaskScheduler *) {};
    auto sleeps = [](TaskScheduler *self) { SleepFor(*self, microseconds(Random(1500))); };
    auto yields = [](TaskScheduler *self) { self->Yield(); };
    Preempt(4);
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 4; ++i) {
            const Task kinds[3] = {MakeTask(leaf), MakeTask(sleeps), MakeTask(yields)};
            const Task tasks[3] = {kinds[Random(3)], kinds[Random(3)], kinds[Random(3)]};
            TaskOptions of = Of(AnyPriority());
            if (options.groupCount != 0 && Random(2) != 0)
                of.group = static_cast<uint8_t>(Random(2));
            else if (Random(2) != 0)
                of.worker = Random(workers);
            Counter first(1), all;
            const uint32_t how = Random(4);
            if (how == 0)
                AddTaskAt(*scheduler, Now() + microseconds(Random(1500)), tasks[0], &all, of);
            else if (how == 1)
                AddTasksAfter(*scheduler, &first, 0, 1 + Random(3), tasks, &all, of);
            else
                scheduler->AddTasks(1 + Random(3), tasks, &all, of);
            scheduler->DecrementCounter(&first);
            if (Random(2) != 0) WaitForCounterFor(*scheduler, &all, microseconds(Random(1500)));
            // another worker must be able to run the tasks then
            const bool isFree = workers != 1 && of.group == kAnyGroup && of.worker == kAnyWorker;
            scheduler->WaitForCounter(
                &all, isFree && Random(2) != 0 ? Meanwhile::Nothing : Meanwhile::AnyTask);
        }
    });
}

// A host that acts once a report has come.
struct Told {
    weft::env::Parker parker;
    ReportCode code;
    uint32_t reports = 0;
    static void Report(const weft::Report &report, void *user) {
        Told &self = *static_cast<Told *>(user);
        if (report.code != self.code) Fail(report.what);
        ++self.reports;
        self.parker.Unpark();
    }
};

// All fibers wait, and tasks are left. That is reported, once, and nothing else.
void StallEmpty() {
    Told told{{}, ReportCode::OutOfFibers};
    SchedulerOptions options = StallOptions(2 + Random(3), 1);
    options.maxAttached = 1;
    options.onReport = Told::Report;
    options.user = &told;
    Counter gate(1);
    uint32_t ran = 0;
    const uint32_t count = 4 + options.workers + Random(4);
    auto waits = [&](TaskScheduler *self) {
        self->WaitForCounter(&gate);
        ++ran;
    };
    const bool isChunk = Random(2) != 0;
    TaskScheduler scheduler(options);
    HostThread lowers([&] {
        told.parker.Park();
        scheduler.DecrementCounter(&gate);
    });
    Preempt(4);
    RunMain(scheduler, [&](TaskScheduler *) {
        lowers.Start();
        Counter all;
        AddMany(&scheduler, isChunk, count, waits, &all);
        scheduler.WaitForCounter(&gate);
        scheduler.WaitForCounter(&all);
    });
    lowers.Join();
    Check(ran == count, "a task was lost");
    Check(told.reports == 1, "not one report");
}

// All wait, in one way or another. That is reported once.
void StallTold() {
    Told told{{}, ReportCode::Stalled};
    const uint32_t workers = 1 + Random(3);
    SchedulerOptions options = StallOptions(workers, 8);
    options.onReport = Told::Report;
    options.user = &told;
    Counter gate(1);
    const bool isLeft = workers == 1 && Random(2) != 0;
    auto waits = [&](TaskScheduler *self) {
        self->WaitForCounter(&gate, Random(2) != 0 ? Meanwhile::Nothing : Meanwhile::AnyTask);
    };
    auto leaf = [](TaskScheduler *) {};
    TaskScheduler scheduler(options);
    HostThread lowers([&] {
        told.parker.Park();
        scheduler.DecrementCounter(&gate);
    });
    Preempt(4);
    RunMain(scheduler, [&](TaskScheduler *) {
        lowers.Start();
        Counter all;
        if (isLeft) {
            scheduler.AddTask(MakeTask(leaf), &all);
            scheduler.WaitForCounter(&gate, Meanwhile::HighOnly);
        } else {
            for (uint32_t i = 1; i < workers; ++i) scheduler.AddTask(MakeTask(waits), &all);
        }
        scheduler.WaitForCounter(&all);
        scheduler.WaitForCounter(&gate);
    });
    lowers.Join();
    Check(told.reports == 1, "not one report");
}

// A thread of the host is kept from running in a call that ends the waits. That is no stall.
void StallInCall() {
    SchedulerOptions options = Options(1 + Random(2), 9);
    options.idle = Random(2) != 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced;
    options.stallMilliseconds = 20;
    Counter gate(1);
    uint32_t caller = ~0u;
    uint64_t keptAt = 0;
    bool isKept = false;
    auto waits = [&](TaskScheduler *self) { self->WaitForCounter(&gate); };
    auto runs = [&](TaskScheduler *) {
        while (!isKept) weft::env::Pause();
    };
    const Task tasks[4] = {MakeTask(waits), MakeTask(waits), MakeTask(waits), MakeTask(runs)};
    Observe([&] {
        if (CurrentThread() != caller || isKept || OwnSteps() < keptAt) return;
        isKept = true;
        Compute(60'000);
    });
    TaskScheduler scheduler(options);
    HostThread lowers([&] {
        keptAt = OwnSteps() + 3 + Random(16);
        caller = CurrentThread();
        scheduler.DecrementCounter(&gate);
        isKept = true;
    });
    RunMain(scheduler, [&](TaskScheduler *) {
        Counter all;
        scheduler.AddTasks(4, tasks, &all);
        lowers.Start();
        scheduler.WaitForCounter(&all);
    });
    lowers.Join();
}

}  // namespace

std::vector<Model> StallModels() {
    return {
        {"stall_hands", "workers hold work, and the system does not let them run", StallHands, 4},
        {"stall_empty", "all fibers wait, and the workers pass the tasks on", StallEmpty, 8},
        {"stall_told", "all wait: this is reported", StallTold, 8},
        {"stall_in_call", "a thread outside is about to end the waits", StallInCall},
    };
}

}  // namespace simulator
