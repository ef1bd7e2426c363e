// Deadlines: in virtual time, which passes by itself when all threads sleep.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <chrono>

namespace simulator {

namespace {

using std::chrono::microseconds;

// Short beside the time that a worker searches, of that order, or long.
Clock::duration Some() {
    static constexpr uint32_t kMax[] = {20, 300, 5000};
    return microseconds(Random(kMax[Random(3)]));
}

// A wait that others may end; then the counter dies.
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
        Check(!inTime || counter->Value() <= value, "a wait ended before its counter was there");
    }
};

// Somebody lowers a counter about when waits for it time out, for zero and for more.
void Deadline() {
    Counters counters;
    Counter *counter = counters.New(2);
    TimedWait waits[3] = {{counter}, {counter}, {counter}};
    uint32_t next = 0;
    auto wait = [&](TaskScheduler *scheduler) {
        const uint32_t index = next++;
        waits[index].Wait(scheduler, index == 2 ? 1 : 0);
    };
    auto lower = [&](TaskScheduler *scheduler) {
        SleepFor(*scheduler, Some());
        scheduler->DecrementCounter(counter);
    };
    RunMain(Options(1 + Random(3), 3 + Random(3), 2), [&](TaskScheduler *scheduler) {
        const Task tasks[5] = {MakeTask(wait), MakeTask(wait), MakeTask(wait), MakeTask(lower),
                               MakeTask(lower)};
        scheduler->AddTasksAndWait(5, tasks);
    });
    for (const TimedWait &each : waits) Check(each.ended == 1, "a wait ended twice or never");
    Counters::Kill(counter);
}

// Tasks that sleep, and others that hold their workers until those that sleep are awake: all
// workers but one, some of them by a task that only they may run. Whoever sleeps until a deadline,
// or would have looked at it next, may be needed for that.
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
                Check(Now() >= end, "it woke up too early");
            }
        };
        auto hold = [&](TaskScheduler *) {
            for (const uint32_t all = begun; awake < all;) weft::env::Pause();
            ++held;
        };
        RunMain(
            options,
            [&](TaskScheduler *scheduler) {
                Counter counter;
                for (uint32_t i = 0; i < count; ++i) scheduler->AddTask(MakeTask(sleep), &counter);
                const uint32_t free = Random(workers);
                for (uint32_t i = 0; i < workers; ++i) {
                    if (Random(3) == 0) SleepFor(*scheduler, Some());
                    if (i == free) continue;
                    TaskOptions here;
                    if (Random(2) != 0) here.worker = i;
                    scheduler->AddTask(MakeTask(hold), &counter, here);
                }
                if (Random(2) != 0) SleepFor(*scheduler, Some());
                // Who polls never lets its worker search.
                if (Random(2) != 0)
                    while (!scheduler->PollCounter(&counter)) scheduler->Yield();
                scheduler->WaitForCounter(&counter);
            },
            StackClass::Small);
        Check(awake == begun && awake >= count && held == workers - 1, "a task was lost");
    }
};

void SleepersOnManyFibers() {
    Sleepers sleepers{1 + Random(3), 1 + Random(3)};
    sleepers.Run(Options(sleepers.workers, 12, 1));
}

// Workers without a fiber keep time too.
void SleepersOnFewFibers() {
    Sleepers sleepers{1 + Random(3), 2 + Random(3)};
    SchedulerOptions options = Options(sleepers.workers, sleepers.workers + Random(3), 1);
    if (options.smallFibers < 2) options.smallFibers = 2;
    options.onReport = OnlyThese<ReportCode::OutOfSmallFibers>;
    sleepers.Run(options);
}

// A thread that is no worker waits until a deadline, while a task lowers the counter and the run
// may end.
void DeadlineExternal() {
    Counters counters;
    Counter *counter = counters.New(1);
    TimedWait wait{counter};
    TaskScheduler scheduler(Options(1 + Random(2), 4, 1));
    HostThread thread([&] { wait.Wait(&scheduler); });
    auto lower = [&](TaskScheduler *running) {
        SleepFor(*running, Some());
        running->DecrementCounter(counter);
    };
    Check(scheduler.Start() == Status::Ok, "Start failed");
    thread.Start();
    if (Random(2) != 0) SleepFor(scheduler, Some());
    scheduler.AddTask(MakeTask(lower));
    thread.Join();
    scheduler.Stop();
    Check(wait.ended == 1, "the wait did not end");
    Counters::Kill(counter);
}

// Tasks and a thread that is no worker wait for whichever of two counters is first, or a deadline;
// then the counters die.
void DeadlineAny() {
    Counters counters;
    Counter *const both[2] = {counters.New(1), counters.New(1)};
    uint32_t ended = 0, lowered = 0;
    Cell written[2];
    auto wait = [&](TaskScheduler *running) {
        const Clock::time_point deadline = Now() + Some();
        const uint32_t first = WaitForAnyUntil(*running, 2, both, deadline);
        ++ended;
        Check(first < 2 ? both[first]->IsZero() : first == 2 && Now() >= deadline,
              "the wrong counter, or a wait too short");
        Check(first == 2 || written[first].Get() == 1,
              "what came before the decrement is not seen");
    };
    auto lower = [&](TaskScheduler *running) {
        const uint32_t which = lowered++;
        SleepFor(*running, Some());
        written[which].Set(1);
        running->DecrementCounter(both[which]);
    };
    TaskScheduler scheduler(Options(1 + Random(2), 5, 1));
    HostThread thread([&] { wait(&scheduler); });
    Check(scheduler.Start() == Status::Ok, "Start failed");
    thread.Start();
    const Task tasks[4] = {MakeTask(wait), MakeTask(wait), MakeTask(lower), MakeTask(lower)};
    scheduler.AddTasks(4, tasks);
    thread.Join();
    scheduler.Stop();
    Check(ended == 3, "a wait ended twice or never");
    for (Counter *counter : both) Counters::Kill(counter);
}

// An attached thread keeps time where there are no workers; it and a task wait with deadlines, some
// are lowered by a thread that is none.
void DeadlineAttached() {
    Counters counters;
    Counter *counter = counters.New(1);
    TimedWait waits[3] = {{counter}, {counter}, {counter}};
    TaskScheduler scheduler(Options(Random(2), 4, 1));
    HostThread thread([&] {
        SleepFor(scheduler, Some());
        scheduler.DecrementCounter(counter);
    });
    auto wait = [&](TaskScheduler *running) { waits[1].Wait(running); };
    auto longer = [&](TaskScheduler *running) {
        SleepFor(*running, Some());
        waits[2].Wait(running);
    };
    Check(scheduler.Start() == Status::Ok && scheduler.AttachThread() == Status::Ok, "no start");
    thread.Start();
    Counter tasks;
    scheduler.AddTask(MakeTask(wait), &tasks);
    scheduler.AddTask(MakeTask(longer), &tasks);
    waits[0].Wait(&scheduler);
    scheduler.WaitForCounter(&tasks);
    scheduler.DetachThread();
    thread.Join();
    scheduler.Stop();
    for (const TimedWait &each : waits) Check(each.ended == 1, "a wait ended twice or never");
    Counters::Kill(counter);
}

// Tasks that follow a counter, or a time, while the counter falls, by tasks and by a thread that is
// no worker, and the run may end.
void Deferred() {
    Counters counters;
    Counter *counter = counters.New(2);
    uint32_t ran[4] = {};
    SchedulerOptions options = Options(1 + Random(2), 3 + Random(2), 1);
    options.onReport = OnlyThese<ReportCode::Stalled>;  // all may wait for the thread
    TaskScheduler scheduler(options);
    HostThread thread([&] { scheduler.DecrementCounter(counter); });
    auto one = [&](TaskScheduler *) {
        ++ran[0];
        Check(counter->Value() <= 1, "it began before its counter was there");
    };
    auto zero = [&](TaskScheduler *) {
        ++ran[1];
        Check(counter->IsZero(), "it began before its counter was there");
    };
    Clock::time_point due;
    auto timed = [&](TaskScheduler *) {
        ++ran[2];
        Check(Now() >= due, "it began before its time");
    };
    auto lower = [&](TaskScheduler *running) {
        ++ran[3];
        running->DecrementCounter(counter);
    };
    Counter done;
    auto submit = [&](TaskScheduler *running) {
        TaskOptions here;
        if (Random(2) != 0) here.worker = 0;
        AddTaskAfter(*running, counter, 1, MakeTask(one), &done, here);
        due = Now() + Some();
        AddTaskAt(*running, due, MakeTask(timed));
    };
    Check(scheduler.Start() == Status::Ok, "Start failed");
    thread.Start();
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

// A task brings a deadline while the other worker goes to sleep, and holds its own worker until it
// is over: only the other one can look after it.
void TimedBusy() {
    uint32_t ran = 0;
    RunMain(Options(2, 4, 1), [&](TaskScheduler *scheduler) {
        auto timed = [&](TaskScheduler *) { ++ran; };
        for (uint32_t i = 0; i < 3; ++i) {
            for (uint32_t steps = Random(200); steps != 0; --steps)
                weft::env::SchedulePoint(nullptr);
            AddTaskAt(*scheduler, Now() + Some(), MakeTask(timed));
            while (ran <= i) weft::env::Pause();
        }
    });
    Check(ran == 3, "a task ran twice or never");
}

// Two workers without a free fiber. One holds itself, by a task that only it may run, from one
// deadline until the next is over: the other has to look after that one, although it may have got
// up and gone back to sleep for the first.
void TimedStarved() {
    bool held = false, last = false;
    SchedulerOptions options = Options(2, 2, 1);
    options.idle = IdlePolicy::Sleep;
    options.onReport = OnlyThese<ReportCode::OutOfSmallFibers>;
    RunMain(
        options,
        [&](TaskScheduler *scheduler) {
            const Clock::time_point soon = Now() + Some();
            auto hold = [&](TaskScheduler *running) {
                SleepUntil(*running, soon);
                while (!last) weft::env::Pause();
                held = true;
            };
            TaskOptions here;
            here.worker = Random(2);
            Counter counter;
            scheduler->AddTask(MakeTask(hold), &counter, here);
            SleepUntil(*scheduler, soon + Some());
            last = true;
            scheduler->WaitForCounter(&counter);
        },
        StackClass::Small);
    Check(held, "a task was lost");
}

// The ticks begin anew while tasks sleep and others keep their workers busy, as after the machine
// was suspended.
void TicksRestart() {
    uint32_t awake = 0;
    auto sleep = [&](TaskScheduler *scheduler) {
        SleepFor(*scheduler, Some());
        ++awake;
    };
    RunMain(Options(1 + Random(2), 6, 1), [&](TaskScheduler *scheduler) {
        Counter counter;
        const Task tasks[3] = {MakeTask(sleep), MakeTask(sleep), MakeTask(sleep)};
        scheduler->AddTasks(3, tasks, &counter);
        if (Random(2) != 0) SleepFor(*scheduler, Some());
        RestartTicks();
        if (Random(2) != 0)
            while (!scheduler->PollCounter(&counter)) scheduler->Yield();
        scheduler->WaitForCounter(&counter);
    });
    Check(awake == 3, "a task was lost");
}

}  // namespace

std::vector<Model> TimeModels() {
    return {
        {"deadline", "waits with a deadline, while others lower the counter", Deadline, 2},
        {"sleepers", "tasks that sleep while others hold their workers until those are awake",
         SleepersOnManyFibers, 2},
        {"sleepers_starved", "the same with fewer fibers than tasks", SleepersOnFewFibers, 2},
        {"deadline_external", "a thread that is no worker waits with a deadline", DeadlineExternal},
        {"deadline_any", "waits for any of two counters with a deadline", DeadlineAny, 2},
        {"timed_busy", "a deadline that only a worker can look after which goes to sleep",
         TimedBusy},
        {"timed_starved",
         "workers without a fiber look after a deadline while one of them waits for it",
         TimedStarved},
        {"ticks_restart", "tasks sleep while the ticks begin anew", TicksRestart},
        {"deferred", "tasks that follow a counter or a time", Deferred},
        {"deadline_attached", "an attached thread keeps time", DeadlineAttached, 2},
    };
}

}  // namespace simulator
