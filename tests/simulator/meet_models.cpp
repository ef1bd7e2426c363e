// Models in which tasks block their workers until another task has run. A worker that leaves work
// behind must wake another one for it. Otherwise these models end in a deadlock.
#include "simulator/model_support.h"
#include "simulator/models.h"

namespace simulator {

namespace {

SchedulerOptions MeetingOptions(uint32_t workers) {
    SchedulerOptions options = Options(workers, 13);
    options.idle = Random(2) != 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced;
    return options;
}

constexpr uint32_t kSlice = 18;  // so many tasks of one submission are one entry of a lane

// As many tasks as workers block until all have begun. They are submitted one by one, or they are
// the last tasks of a batch. The earlier tasks take so long that no worker claims several at once.
void Meet() {
    const uint32_t workers = 2 + Random(2);
    Meeting meeting{workers};
    uint32_t early = 0;
    auto come = [&](TaskScheduler *) {
        if (early == 0) return meeting.Come();
        --early;
        for (int i = 0; i < 16; ++i) weft::env::SchedulePoint(nullptr);
    };
    RunCounted(MeetingOptions(workers), [&](TaskScheduler *scheduler, Counter *counter) {
        const uint32_t first = Random(2) != 0 ? kSlice : Random(workers);
        if (first == kSlice) early = kSlice - workers;
        if (first != 0) AddBatch(scheduler, first, come, counter);
        for (uint32_t i = first; i < workers; ++i) scheduler->AddTask(MakeTask(come), counter);
    });
    Check(meeting.come == workers, "a task was lost");
}

// A task that was claimed together with another one waits and resumes. Then it blocks until the
// other one has run. The other one must run elsewhere, although it was claimed.
void MeetClaimed() {
    Meeting meeting{2};
    Counter gate(1);
    uint32_t next = 0;
    auto one = [&](TaskScheduler *scheduler) {
        const uint32_t index = next++;  // in the order in which they begin
        if (index < 4) return;          // short: from now on a worker claims several at once
        if (index == 4) scheduler->WaitForCounter(&gate);
        if (index < 6) meeting.Come();
    };
    auto opener = [&](TaskScheduler *scheduler) { scheduler->DecrementCounter(&gate); };
    RunCounted(MeetingOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        AddBatch(scheduler, kSlice, one, counter);
        scheduler->AddTask(MakeTask(opener), counter, Of(Priority::High));
    });
    Check(next == kSlice, "a task was lost");
}

// Tasks that were claimed together with others submit tasks and wait for them, so they run some of
// them inline. Each task must run exactly once.
void ClaimHelps() {
    uint32_t begun = 0, leaves = 0, expected = 0;
    auto leaf = [&](TaskScheduler *) { ++leaves; };
    auto one = [&](TaskScheduler *scheduler) {
        if (begun++ < 4 || Random(2) != 0)
            return;  // the first ones are short: from then on a worker claims several at once
        const uint32_t count = Random(2) != 0 ? 2 : kSlice;
        expected += count;
        RunBatch(scheduler, count, leaf);
    };
    RunMain(MeetingOptions(1 + Random(2)),
            [&](TaskScheduler *scheduler) { RunBatch(scheduler, kSlice, one); });
    Check(begun == kSlice && leaves == expected, "a task was lost or run twice");
}

// A worker has claimed several tasks. One of them blocks the thread (Meanwhile::Nothing) until the
// next one has run. The worker must put the rest of its claim back.
void ClaimBlocks() {
    uint32_t begun = 0;
    const uint32_t blocking = 4 + Random(kSlice - 5);
    Counter next(1);
    auto one = [&](TaskScheduler *scheduler) {
        // The first ones are short: from then on a worker claims several at once.
        const uint32_t mine = begun++;
        if (mine == blocking) scheduler->WaitForCounter(&next, Meanwhile::Nothing);
        if (mine == blocking + 1) scheduler->DecrementCounter(&next);
    };
    RunMain(MeetingOptions(2), [&](TaskScheduler *scheduler) { RunBatch(scheduler, kSlice, one); });
    Check(begun == kSlice && next.IsZero(), "a task was lost or run twice");
}

// Two tasks need two workers at once, one of which was inactive before. It must take part again.
void MeetActive() {
    Meeting meeting{2};
    auto come = [&](TaskScheduler *) { meeting.Come(); };
    auto leaf = [](TaskScheduler *) {};
    RunCounted(MeetingOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->SetActiveWorkers(1);
        for (uint32_t i = Random(4); i > 0; --i) RunTask(scheduler, leaf);
        scheduler->SetActiveWorkers(2);
        AddEach(scheduler, counter, come, come);
    });
    Check(meeting.come == 2, "a task was lost");
}

// A thread attaches, submits a task and blocks until a worker has run it. The worker must find the
// queue of the new worker.
void MeetAttached() {
    StartedScheduler scheduler(MeetingOptions(1));
    Meeting meeting{2};
    auto come = [&](TaskScheduler *) { meeting.Come(); };
    Counter counter;
    auto leaf = [](TaskScheduler *) {};
    if (Random(2) != 0) scheduler.AddTask(MakeTask(leaf), &counter);
    Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    scheduler.AddTask(MakeTask(come), &counter);
    meeting.Come();
    scheduler.WaitForCounter(&counter);
    scheduler.DetachThread();
    scheduler.Stop();
    Check(meeting.come == 2, "a task was lost");
}

// Starved workers sleep, and one of them is woken for a freed fiber. But it has become inactive,
// while another starved worker has a task. This worker must get the fiber.
void MeetInactive() {
    SchedulerOptions options = MeetingOptions(3);
    options.fibers = 3;
    options.onReport = OnlyThese<ReportCode::Stalled>;
    StartedScheduler scheduler(options);
    Counter began(1), gate(1), pinned, counter;
    auto waiter = [&](TaskScheduler *self) {
        self->DecrementCounter(&began);
        self->WaitForCounter(&gate);
    };
    auto leaf = [](TaskScheduler *) { Linger(32); };
    scheduler.AddTask(MakeTask(waiter), &counter);
    scheduler.WaitForCounter(&began);
    for (uint32_t i = 1 + Random(2); i != 0; --i) scheduler.AddTask(MakeTask(leaf), &counter);
    scheduler.AddTask(MakeTask(leaf), &pinned, PinnedTo(0));
    scheduler.SetActiveWorkers(2);
    scheduler.WaitForCounter(&pinned);
    scheduler.DecrementCounter(&gate);
    scheduler.WaitForCounter(&counter);
    scheduler.Stop();
}

// A starved worker is woken for a ready fiber, but continues a fiber of its own, which blocks until
// the other fiber has continued. Another worker must be woken for that one.
void MeetReady() {
    SchedulerOptions options = MeetingOptions(3);
    options.fibers = 4 + Random(2);
    options.onReport = OnlyThese<ReportCode::Stalled>;
    StartedScheduler scheduler(options);
    bool ran = false;
    Counter began(2), ready(1), pinned(1), counter;
    const auto wait = [&](TaskScheduler *self, Counter &gate) {
        self->DecrementCounter(&began);
        self->WaitForCounter(&gate);
    };
    const auto awaitOther = [&] {
        while (!ran) weft::env::Pause();
    };
    auto other = [&](TaskScheduler *self) {
        wait(self, ready);
        ran = true;
    };
    auto home = [&](TaskScheduler *self) {
        wait(self, pinned);
        awaitOther();
    };
    auto opener = [&](TaskScheduler *self) {
        self->DecrementCounter(&ready);
        self->DecrementCounter(&pinned);
        awaitOther();
    };
    auto leaf = [](TaskScheduler *) {};
    scheduler.AddTask(MakeTask(other), &counter);
    scheduler.AddTask(MakeTask(home), &counter, PinnedTo(0));
    scheduler.WaitForCounter(&began);
    for (uint32_t i = Random(3); i != 0; --i) scheduler.AddTask(MakeTask(leaf), &counter);
    scheduler.AddTask(MakeTask(opener), &counter);
    scheduler.WaitForCounter(&counter);
    scheduler.Stop();
}

// An inactive worker has two pinned fibers. The first one waits for a task of a worker that is
// starved until the second one has ended. weft must not take this for a state in which all fibers
// wait.
void PinnedKept() {
    RunMain(Options(2, 4), [&](TaskScheduler *scheduler) {
        bool ran = false;
        auto needed = [&](TaskScheduler *) { ran = true; };
        auto waits = [&](TaskScheduler *self) {
            self->Yield();
            RunTask(self, needed, PinnedTo(0));
            Check(ran, "a wait returned before its task had finished");
        };
        auto ends = [](TaskScheduler *self) { self->Yield(); };
        scheduler->SetActiveWorkers(1);
        const Task tasks[2] = {MakeTask(waits), MakeTask(ends)};
        scheduler->AddTasksAndWait(2, tasks, PinnedTo(1));
    });
}

// The end of a pinned task makes a fiber ready on an inactive worker. The next pinned task blocks
// this worker until the fiber has continued. Another worker must be woken for the fiber.
void MeetPinned() {
    RunMain(MeetingOptions(2), [&](TaskScheduler *scheduler) {
        bool wentOn = false;
        auto ends = [](TaskScheduler *) {};
        auto holds = [&](TaskScheduler *) {
            while (!wentOn) weft::env::Pause();
        };
        const TaskOptions there = PinnedTo(1);
        Counter first, second;
        scheduler->SetActiveWorkers(1);
        scheduler->AddTask(MakeTask(ends), &first, there);
        scheduler->AddTask(MakeTask(holds), &second, there);
        scheduler->WaitForCounter(&first);
        wentOn = true;
        scheduler->WaitForCounter(&second);
    });
}

// A pinned task makes a fiber ready in a call of RunPinnedTasks. This worker runs only pinned
// tasks, so a sleeping worker must be woken for the fiber.
void PumpWakes() {
    RunMain(MeetingOptions(2), [&](TaskScheduler *scheduler) {
        bool wentOn = false;
        const TaskOptions here = PinnedTo(scheduler->CurrentWorker());
        auto call = [](TaskScheduler *) {};
        auto waiter = [&](TaskScheduler *self) {
            RunTask(self, call, here);
            wentOn = true;
        };
        Counter all;
        scheduler->AddTask(MakeTask(waiter), &all);
        while (!wentOn) {
            scheduler->RunPinnedTasks();
            weft::env::Pause();
        }
        scheduler->WaitForCounter(&all);
    });
}

// RunPinnedTasks puts a pinned task back because no fiber is free. It must not count this task as
// run, and the order of the pinned tasks must not change.
void PumpCounts() {
    Counter gate(1), blocked, pinned;
    uint32_t done = 0;
    const uint32_t most = 2 + Random(2);
    auto blocker = [&](TaskScheduler *running) { running->WaitForCounter(&gate); };
    auto first = [&](TaskScheduler *running) {
        AddBatch(running, 3, blocker, &blocked);
        Dawdle(1000);
        ++done;
    };
    auto second = [&](TaskScheduler *) { Check(++done == 2, "a pinned task was overtaken"); };
    auto third = [&](TaskScheduler *) { ++done; };
    TaskScheduler scheduler(Options<ReportCode::Stalled, ReportCode::OutOfFibers>(2, 5));
    const auto main = [&](TaskScheduler *running) {
        for (const Task &task : {MakeTask(first), MakeTask(second), MakeTask(third)})
            running->AddTask(task, &pinned, PinnedTo(0));
        const uint32_t ran = running->RunPinnedTasks(most);
        Check(ran == done && done == most, "RunPinnedTasks returned a wrong number");
        running->DecrementCounter(&gate);
        running->WaitForCounter(&pinned);
        running->WaitForCounter(&blocked);
    };
    RunMain(scheduler, main, PinnedTo(0));
}

// A task yields on a worker that has become inactive, and no fiber is free. It must continue on the
// other worker, which sleeps.
void YieldInactive() {
    bool begun = false;
    auto yields = [&](TaskScheduler *self) {
        begun = true;
        self->SetActiveWorkers(1);
        for (uint32_t times = 1 + Random(2); times != 0; --times) self->Yield();
    };
    RunCounted(Options(2, 3), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(yields), counter);
        while (!begun) weft::env::Pause();
    });
}

}  // namespace

std::vector<Model> MeetModels() {
    return {
        {"meet", "as many tasks as workers block until all have begun", Meet},
        {"meet_claimed", "a task of a claim blocks until another task of that claim has run",
         MeetClaimed},
        {"claim_helps", "tasks of one claim wait and run others inline", ClaimHelps},
        {"claim_blocks", "a task of a claim blocks its thread until the next one has run",
         ClaimBlocks},
        {"meet_active", "two tasks need a worker that was inactive", MeetActive},
        {"meet_attached", "an attached thread blocks until a worker has run its task",
         MeetAttached},
        {"meet_inactive",
         "a fiber becomes free for two starved workers; one of them has become inactive",
         MeetInactive},
        {"pinned_kept", "an inactive worker has two pinned fibers, and the other worker is starved",
         PinnedKept},
        {"meet_pinned",
         "a fiber that an inactive worker made ready, and tasks pinned to that worker", MeetPinned},
        {"pump_wakes", "a fiber that a pinned task made ready, while its worker only pumps",
         PumpWakes},
        {"pump_counts", "a task pumps pinned tasks, with few fibers", PumpCounts},
        {"yield_inactive", "a task that yields on an inactive worker while no fiber is free",
         YieldInactive},
        {"meet_ready", "a ready fiber and a pinned one, for starved workers", MeetReady},
    };
}

}  // namespace simulator
