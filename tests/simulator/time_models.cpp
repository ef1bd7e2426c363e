// Models of deadlines. Time is virtual: it jumps to the next deadline if all threads sleep.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>

namespace simulator {

namespace {

using std::chrono::microseconds;

// A random duration: short compared to a worker's search, similar, or long.
Clock::duration Some() {
    static constexpr uint32_t kMax[] = {20, 300, 5000};
    return microseconds(Random(kMax[Random(3)]));
}

// A wait with a timeout, during which others may lower the counter. After it the counter may be
// destroyed.
struct TimedWait {
    Counter *counter;
    Clock::duration duration = Some();
    uint32_t ended = 0;
    bool inTime = false;

    void Wait(TaskScheduler *scheduler, uint32_t value = 0) {
        const Clock::time_point begin = Now();
        inTime = WaitForCounterFor(*scheduler, counter, duration, value);
        ++ended;
        Check(inTime || Now() - begin >= duration, "a wait ended before its deadline");
        Check(!inTime || counter->Value() <= value, "a wait ended before its counter was reached");
    }
};

// Two tasks and a thread wait with a deadline, for zero or for a value above. A task and an
// external thread lower the counter at about that time. The thread that waits is attached, or it is
// an external one. If there are no workers, the attached thread must handle all deadlines. Each
// wait must end once, for a reason that holds.
void Deadline() {
    Counters counters;
    Counter *const counter = counters.New(2);
    TimedWait waits[3] = {{counter}, {counter}, {counter}};
    uint32_t next = 0;
    auto wait = [&](TaskScheduler *running) {
        const uint32_t index = next++;
        if (Random(3) == 0) SleepFor(*running, Some());
        waits[index].Wait(running, index);
    };
    auto lower = [&](TaskScheduler *running) {
        SleepFor(*running, Some());
        running->DecrementCounter(counter);
    };
    auto inlines = [&](TaskScheduler *running) { AddAndWait(running, wait, wait, lower); };
    const bool isAttached = Random(2) != 0;
    const uint32_t workers = isAttached ? Random(3) : 1 + Random(3);
    StartedScheduler scheduler(Options(workers, 5 + Random(3)));
    if (isAttached) Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    RunningThread thread([&] { lower(&scheduler); });
    Counter tasks;
    if (Random(2) != 0)
        AddEach(&scheduler, &tasks, inlines);
    else
        AddEach(&scheduler, &tasks, wait, wait, lower);
    if (Random(2) != 0) SleepFor(scheduler, Some());
    waits[2].Wait(&scheduler, Random(2));
    scheduler.WaitForCounter(&tasks);
    if (isAttached) scheduler.DetachThread();
    thread.Join();
    scheduler.Stop();
    for (const TimedWait &each : waits) Check(each.ended == 1, "a wait ended twice or never");
    Counters::Kill(counter);
}

// Tasks sleep, and other tasks block all workers but one until the sleepers are awake. Some of the
// blocking tasks are pinned. So the blocked worker may be the one that sleeps until the deadline,
// or the next one that would check it. Another worker must take over this duty. Otherwise the
// sleepers never wake.
struct Sleepers {
    uint32_t workers, count;
    uint32_t begun = 0, awake = 0, held = 0;

    void Run(SchedulerOptions options) {
        auto sleep = [&](TaskScheduler *scheduler) {
            for (uint32_t times = 1 + Random(2); times > 0; --times) {
                const Clock::time_point end = Now() + Some();
                ++begun;
                SleepUntil(*scheduler, end);
                ++awake;
                Check(Now() >= end, "a sleep ended too early");
            }
        };
        auto hold = [&](TaskScheduler *) {
            for (const uint32_t all = begun; awake < all;) weft::env::Pause();
            ++held;
        };
        RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
            for (uint32_t i = 0; i < count; ++i) scheduler->AddTask(MakeTask(sleep), counter);
            const uint32_t free = Random(workers);
            for (uint32_t i = 0; i < workers; ++i) {
                if (Random(3) == 0) SleepFor(*scheduler, Some());
                if (i == free) continue;
                const uint32_t worker = Random(2) != 0 ? i : kAnyWorker;
                scheduler->AddTask(MakeTask(hold), counter, PinnedTo(worker));
            }
            if (Random(2) != 0) SleepFor(*scheduler, Some());
            // A task that polls keeps its worker from searching for work.
            if (Random(2) != 0)
                while (!scheduler->PollCounter(counter)) scheduler->Yield();
        });
        Check(awake == begun && awake >= count && held == workers - 1, "a task was lost");
    }
};

// There are more fibers than tasks, or hardly more fibers than workers. Workers without a free
// fiber must process deadlines, too.
void SleepersOnFibers() {
    Sleepers sleepers{1 + Random(3), 1 + Random(4)};
    if (Random(2) != 0) return sleepers.Run(Options(sleepers.workers, 13));
    const uint32_t fibers = std::max(3u, sleepers.workers + 1 + Random(3));
    sleepers.Run(Options<ReportCode::OutOfFibers>(sleepers.workers, fibers));
}

// Deferred tasks follow a counter or a time. A task and an external thread lower the counter, and
// the run may end. Each deferred task must run once, and not early.
void Deferred() {
    Counters counters;
    Counter *counter = counters.New(2);
    uint32_t ran[4] = {};
    // all tasks may wait for the external thread
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(2), 4 + Random(2)));
    RunningThread thread([&] { scheduler.DecrementCounter(counter); });
    auto one = [&](TaskScheduler *) {
        ++ran[0];
        Check(counter->Value() <= 1, "a task began before its counter was reached");
    };
    auto zero = [&](TaskScheduler *) {
        ++ran[1];
        Check(counter->IsZero(), "a task began before its counter was reached");
    };
    Clock::time_point due;
    auto timed = [&](TaskScheduler *) {
        ++ran[2];
        Check(Now() >= due, "a task began before its time");
    };
    auto lower = [&](TaskScheduler *running) {
        ++ran[3];
        running->DecrementCounter(counter);
    };
    Counter done;
    auto submit = [&](TaskScheduler *running) {
        const uint32_t worker = Random(2) != 0 ? 0 : kAnyWorker;
        AddTaskAfter(*running, counter, 1, MakeTask(one), &done, PinnedTo(worker));
        due = Now() + Some();
        AddTaskAt(*running, due, MakeTask(timed));
    };
    scheduler.AddTask(MakeTask(submit), &done);
    AddTaskAfter(scheduler, counter, 0, MakeTask(zero), &done);
    AddTaskAt(scheduler, Now() + Some(), MakeTask(lower));
    thread.Join();
    if (Random(2) != 0) scheduler.WaitForCounter(&done);
    scheduler.Stop();
    for (uint32_t each : ran) Check(each == 1, "a task ran twice or never");
    Check(done.IsZero(), "a counter was not lowered");
    Counters::Kill(counter);
}

// A batch follows two counters. Two tasks and an external thread lower them, and a counter is
// destroyed as soon as it has been zero and the call that submits the batch has returned. Each task
// must run once, not early, and sees what was written before either counter was reached.
void DeferredBatch() {
    constexpr uint32_t kTasks = 33;  // more than a block holds
    Counters counters;
    Counter *after[2] = {counters.New(2), counters.New(1)};
    Cell written[3];
    uint32_t ran[kTasks] = {}, returned = 0;
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(2), 5));
    const auto lowerAs = [&](uint32_t index) {
        written[index].Set(1);
        scheduler.DecrementCounter(after[index / 2]);
    };
    HostThread thread([&] { lowerAs(0); });
    auto lower = [&](TaskScheduler *) { lowerAs(1); };
    auto lowerOther = [&](TaskScheduler *) { lowerAs(2); };
    auto kill = [&](TaskScheduler *running) {
        running->WaitForCounter(after[1]);
        while (returned == 0) running->Yield();
        Counters::Kill(after[1]);
    };
    IndexedTasks tasks(kTasks, [&](TaskScheduler *, uint32_t index) {
        ++ran[index];
        for (const Cell &each : written)
            Check(each.Get() == 1, "a task of the batch began too early");
    });
    const CounterTarget targets[] = {{after[1]}, {after[0]}};
    const uint32_t count = 1 + Random(2) * (kTasks - 1);
    Counter done, lowered;
    auto submit = [&](TaskScheduler *running) {
        Check(AddTasksAfter(*running, 2, targets, count, tasks.data(), &done),
              "AddTasksAfter failed");
        returned = 1;
    };
    thread.Start();
    const Task rest[3] = {MakeTask(lower), MakeTask(lowerOther), MakeTask(kill)};
    if (Random(2) != 0) submit(&scheduler);
    scheduler.AddTasks(3, rest, &lowered);
    if (returned == 0) scheduler.AddTask(MakeTask(submit), &lowered);
    scheduler.WaitForCounter(&lowered);
    thread.Join();
    if (Random(2) != 0) scheduler.WaitForCounter(&done);
    scheduler.Stop();
    for (uint32_t i = 0; i < kTasks; ++i)
        Check(ran[i] == (i < count ? 1u : 0u), "a task ran twice or never");
    Check(done.IsZero(), "a counter was not lowered");
    Counters::Kill(after[0]);
}

// StopFor withdraws tasks that wait for a time or a counter, while others lower that counter and
// the timers expire. Each task runs once, or is withdrawn. Their counter becomes zero, and StopFor
// tells whether all have run.
void StopForWithdraws() {
    Counters counters;
    Counter *const after = counters.New(1), *const done = counters.New(0);
    uint32_t ran = 0, submitted = 0;
    auto task = [&](TaskScheduler *) { ++ran; };
    const Task both[2] = {MakeTask(task), MakeTask(task)};
    // the thread may come too late
    SchedulerOptions options = Options<ReportCode::EndDelayed, ReportCode::RunEnding,
                                       ReportCode::Stalled, ReportCode::NotRunning>(Random(3), 5);
    options.stopGraceMilliseconds = Random(2);
    StartedScheduler scheduler(options);
    const auto submit = [&](TaskScheduler &to) {
        DeferredHandle handle;
        submitted += AddTaskAfter(to, after, 0, both[0], done);
        submitted += AddTasksAfter(to, after, 0, 2, both, done) ? 2 : 0;
        submitted += AddTaskAt(to, Now() + Some(), both[0], done);
        submitted += AddTaskAt(to, Now() + Some(), both[0], done, {}, &handle);
    };
    auto later = [&](TaskScheduler *running) {
        SleepFor(*running, Some());
        submit(*running);
    };
    const bool isLowered = Random(3) != 0;
    auto lower = [&](TaskScheduler *running) {
        SleepFor(*running, Some());
        running->DecrementCounter(after);
    };
    HostThread thread([&] { lower(&scheduler); });
    const bool byThread = isLowered && Random(2) != 0;
    if (byThread) thread.Start();
    if (isLowered && !byThread) scheduler.AddTask(MakeTask(lower));
    submit(scheduler);
    if (Random(2) != 0) scheduler.AddTask(MakeTask(later));
    bool all = true;
    if (isLowered && Random(4) == 0)
        scheduler.Stop();  // EndDelayed names the tasks while they are submitted
    else
        all = StopFor(scheduler, Some());
    if (byThread) thread.Join();
    Check(ran <= submitted && all == (ran == submitted), "a task was lost, or ran twice");
    Check(done->IsZero(), "a counter was not lowered");
    Counters::Kill(done);
}

// A task sets a deadline while the other worker falls asleep, and then blocks its own worker until
// the deadline has been processed. The other worker must process it.
void TimedBusy() {
    uint32_t ran = 0;
    RunMain(Options(2, 5), [&](TaskScheduler *scheduler) {
        auto timed = [&](TaskScheduler *) { ++ran; };
        for (uint32_t i = 0; i < 3; ++i) {
            Linger(200);
            AddTaskAt(*scheduler, Now() + Some(), MakeTask(timed));
            while (ran <= i) weft::env::Pause();
        }
    });
    Check(ran == 3, "a task ran twice or never");
}

// Neither of two workers has a free fiber. A pinned task blocks one of them after one deadline
// until the next deadline has been processed. The other worker must process this one, even if it
// has just woken for the first one and gone back to sleep.
void TimedStarved() {
    bool held = false, last = false;
    SchedulerOptions options = Options(2, 3);
    options.idle = IdlePolicy::Sleep;
    options.onReport = OnlyThese<ReportCode::OutOfFibers>;
    RunMain(options, [&](TaskScheduler *scheduler) {
        const Clock::time_point soon = Now() + Some();
        auto hold = [&](TaskScheduler *running) {
            SleepUntil(*running, soon);
            while (!last) weft::env::Pause();
            held = true;
        };
        Counter counter;
        scheduler->AddTask(MakeTask(hold), &counter, PinnedTo(Random(2)));
        SleepUntil(*scheduler, soon + Some());
        last = true;
        scheduler->WaitForCounter(&counter);
    });
    Check(held, "a task was lost");
}

// The tick counter restarts while tasks sleep and others keep their workers busy, as after a
// suspend of the machine. The sleepers must still wake up.
void TicksRestart() {
    uint32_t awake = 0;
    auto sleep = [&](TaskScheduler *scheduler) {
        SleepFor(*scheduler, Some());
        ++awake;
    };
    RunCounted(Options(1 + Random(2), 7), [&](TaskScheduler *scheduler, Counter *counter) {
        AddBatch(scheduler, 3, sleep, counter);
        if (Random(2) != 0) SleepFor(*scheduler, Some());
        RestartTicks();
        if (Random(2) != 0)
            while (!scheduler->PollCounter(counter)) scheduler->Yield();
    });
    Check(awake == 3, "a task was lost");
}

}  // namespace

std::vector<Model> TimeModels() {
    return {
        {"deadline", "tasks and a thread wait with a deadline, while others lower the counter",
         Deadline, 2},
        {"sleepers", "tasks sleep; other tasks occupy the workers until the sleepers are awake",
         SleepersOnFibers, 2},
        {"timed_busy", "a deadline that only a worker that goes to sleep can handle", TimedBusy},
        {"timed_starved", "starved workers handle a deadline that one of them waits for",
         TimedStarved},
        {"ticks_restart", "tasks sleep while the ticks are reset", TicksRestart},
        {"deferred", "deferred tasks after a counter or at a time", Deferred},
        {"deferred_batch", "a batch after two counters, of which one is then destroyed",
         DeferredBatch, 2},
        {"stop_for", "StopFor withdraws tasks, while others lower the counter that they wait for",
         StopForWithdraws, 2},
    };
}

}  // namespace simulator
