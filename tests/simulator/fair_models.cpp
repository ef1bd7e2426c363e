// Models that check how long something waits at most, and how work is shared among workers. Time is
// virtual: tasks compute for a number of microseconds, and a step takes a nanosecond.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace simulator {

namespace {

// All workers run loops of waits. A High task of an external thread, a pinned task or a deadline
// must begin after the current task, although each waiter has tasks of its own to run inline. Shows
// a wait that is no scheduling point.
void LoopsGiveTurns(bool isOutside) {
    const bool isPinned = Random(2) != 0;
    Counters counters;
    Event event;
    const uint32_t workers = 1 + Random(2);
    TaskScheduler scheduler(FairOptions(workers));
    const bool isShort = isOutside && Random(2) != 0;
    const uint32_t length = isShort ? 5 : 100;
    const bool fused = Random(2) != 0;
    auto leaf = [&](TaskScheduler *) { Compute(length); };
    auto loop = [&](TaskScheduler *self) {
        for (uint32_t turns = 0; !event.over; ++turns) {
            Check(turns < 40000 / length, "no other task gets a turn");
            if (fused) {
                AddBatchAndWait(self, 4, leaf);
                continue;
            }
            Counter *counter = counters.New();
            AddBatch(self, 4, leaf, counter);
            WaitAndKill(self, counter);
        }
    };
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    bool hasBegun = false;
    auto first = [&](TaskScheduler *) { hasBegun = true; };
    HostThread outside([&] {
        Compute(300 + Random(300));
        // a worker may hide the notice of High work because it has taken the task before
        if (isShort) {
            scheduler.AddTask(MakeTask(first), nullptr, Of(Priority::High));
            while (!hasBegun) weft::env::SchedulePoint(nullptr);
        }
        event.Ask();
        scheduler.AddTask(MakeTask(begins), nullptr, Of(Priority::High));
    });
    RunMain(scheduler, [&](TaskScheduler *self) {
        Counter *counter = counters.New();
        for (uint32_t i = 0; i < workers; ++i) self->AddTask(MakeTask(loop), counter);
        if (isOutside) {
            outside.Start();
        } else if (isPinned) {
            self->AddTask(MakeTask(begins), counter, PinnedTo(Random(workers)));
            event.Ask();
        } else {
            event.asked = weft::env::Now() + 300 * kUs;
            AddTaskAt(*self, Now() + std::chrono::microseconds(300), MakeTask(begins), counter,
                      Of(Priority::High));
        }
        WaitAndKill(self, counter);
    });
    if (isOutside) outside.Join();
    CheckSoon(event.late <= (length + 50) * kUs,
              "a task began later than the longest task and 50 microseconds");
}

// A worker submits a High task and then computes for long. The other worker has Normal tasks in its
// own lane. It must run the High task before the next Normal task.
void HighGoesFirst() {
    Event event;
    bool blockerHasIt = false;
    auto high = [&](TaskScheduler *) { event.Begin(); };
    auto normal = [&](TaskScheduler *) {
        CheckSoon(event.asked == 0 || event.over || weft::env::Now() < event.asked + 10 * kUs,
                  "a Normal task began after a High one was visible");
        Compute(20);
    };
    auto submitter = [&](TaskScheduler *scheduler) {
        Compute(300);
        event.Ask();
        scheduler->AddTask(MakeTask(high), nullptr, Of(Priority::High));
        Compute(5000);
        blockerHasIt = true;
    };
    RunCounted(FairOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(submitter), counter);
        for (uint32_t i = 0; i < 100; ++i) scheduler->AddTask(MakeTask(normal), counter);
    });
    Check(blockerHasIt, "a task was lost");
    CheckSoon(event.late <= (20 + 10) * kUs, "a High task waited for Normal ones");
}

// Other tasks are submitted without end, and a task with the given priority is the oldest one. It
// is Low, or its lane serves newer tasks first. It must begin within ten milliseconds.
void NothingStarves() {
    const Priority priority = Random(2) != 0 ? Priority::Low : Priority::Normal;
    Event event;
    const TaskOptions floods =
        Of(priority == Priority::Low && Random(2) != 0 ? Priority::High : Priority::Normal);
    auto nothing = [](TaskScheduler *) {};
    Repeated flood([&](TaskScheduler *scheduler, Task again) {
        if (event.over) return;
        TaskOptions options = floods;
        if (Random(16) == 0) options.worker = 0;
        if (Random(4) == 0) scheduler->Yield();
        if (Random(4) == 0) RunTask(scheduler, nothing, options);
        scheduler->AddTask(again, nullptr, options);
        Compute(500);
    });
    auto oldest = [&](TaskScheduler *) { event.Begin(); };
    RunMain(FairOptions(1), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(oldest), nullptr, Of(priority));
        event.Ask();
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(MakeTask(flood), nullptr, floods);
    });
    Check(event.late <= 10000 * kUs, "a task waited longer than the bound");
}

// Other tasks are submitted without end. The two oldest ones come by fair picks. The worker loses
// its processor for long during the first one. The second one must begin soon after it. Fails if
// the pause after a fair pick is a multiple of the time that the worker has lost.
void LostTimeMakesNoPause() {
    Event event;
    Repeated flood([&](TaskScheduler *scheduler, Task again) {
        if (event.over) return;
        scheduler->AddTask(again);
        Compute(500);
    });
    auto stopped = [&](TaskScheduler *) {
        Compute(20'000 + Random(60'000));
        event.Ask();
    };
    auto second = [&](TaskScheduler *) { event.Begin(); };
    RunMain(FairOptions(1), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(stopped));
        scheduler->AddTask(MakeTask(second));
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(MakeTask(flood));
    });
    Check(event.late <= (4000 + 1000) * kUs, "a fair pick that took long held off the next one");
}

// Two tasks poll and yield without end, one of them pinned, with any two priorities. Each yield
// makes a fair pick. A task that is not pinned must begin all the same. Shows turns that keep step
// with such a loop.
void PollingTasksLeaveTurns() {
    Event event;
    Counter never(1), all;
    SchedulerOptions options = FairOptions(1);
    const uint32_t loops = 1 + Random(3), length = 100 + Random(100);
    const bool polls = Random(4) != 0;
    const uint64_t begun = weft::env::Now();
    auto turns = [&](TaskScheduler *scheduler) {
        while (!event.over && weft::env::Now() < begun + 300'000 * kUs) {
            Compute(length);
            if (polls) scheduler->PollCounter(&never);
            scheduler->Yield();
        }
    };
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    RunMain(options, [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(turns), &all, PinnedTo(0, AnyPriority()));
        for (uint32_t i = 0; i < loops; ++i)
            scheduler->AddTask(MakeTask(turns), &all, Of(AnyPriority()));
        SleepFor(*scheduler, std::chrono::milliseconds(1));
        event.Ask();
        scheduler->AddTask(MakeTask(begins), &all, Of(AnyPriority()));
        scheduler->WaitForCounter(&all);
        scheduler->DecrementCounter(&never);
    });
    Check(event.late <= 110'000 * kUs, "tasks that poll and yield kept another one waiting");
}

// Three tasks of the first or the second group are pinned to the worker of the first one. They
// poll, or yield, until a task of the first group has run. The usual order finds each of them
// before that task. There may also be a High task of the first group, which must begin after the
// current task.
void PinnedTasksPoll() {
    const bool hasHigh = Random(2) != 0;
    static constexpr WorkerGroup kGroups[2] = {{"first", 1}, {"second", 1}};
    Counters counters;
    Event event, high;
    SchedulerOptions options = FairOptions(2);
    options.groups = kGroups;
    options.groupCount = 2;
    Counter *never = counters.New(), *all = counters.New();
    const bool yields = Random(2) != 0;
    auto polls = [&](TaskScheduler *scheduler) {
        while (!event.over) {
            Compute(10);
            yields ? scheduler->Yield() : void(scheduler->PollCounter(never));
        }
    };
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    auto urgent = [&](TaskScheduler *) { high.Begin(); };
    auto pins = [&](TaskScheduler *scheduler) {  // the pinned tasks inherit its group
        for (uint32_t i = 0; i < 3; ++i) scheduler->AddTask(MakeTask(polls), all, PinnedTo(0));
    };
    auto submits = [&](TaskScheduler *scheduler) {
        const uint32_t group = Random(2);
        scheduler->AddTask(MakeTask(pins), all, InGroup(group));
        if (group == 1) scheduler->Yield();
        Compute(2000);
        event.Ask();
        scheduler->AddTask(MakeTask(begins), all, InGroup(0));
        if (!hasHigh) return void(high.late = 0);
        high.Ask();
        scheduler->AddTask(MakeTask(urgent), all, InGroup(0, Priority::High));
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        scheduler->IncrementCounter(never);
        scheduler->AddTask(MakeTask(submits), all, InGroup(1));
        scheduler->WaitForCounter(all);
        scheduler->DecrementCounter(never);
    });
    for (Counter *counter : {never, all}) Counters::Kill(counter);
    CheckSoon(high.late <= 200 * kUs, "pinned tasks that poll kept a High task waiting");
    CheckSoon(event.late <= 3000 * kUs, "pinned tasks that poll kept others waiting");
}

// High tasks keep the worker busy, and several queues are late at once, one of them for the whole
// time. The late queues must be served in turn, so that none of them starves.
void NoneOfSeveralStarves() {
    constexpr uint32_t kEvents = 4;
    Event events[kEvents];
    uint32_t begun = 0;
    TaskScheduler scheduler(FairOptions(1));
    Repeated flood([&](TaskScheduler *self, Task again) {
        if (begun == kEvents) return;
        self->AddTask(again, nullptr, Of(Priority::High));
        Compute(200);
    });
    auto begins = [&](TaskScheduler *) { events[begun++].Begin(); };
    auto normal = [&](TaskScheduler *) {
        if (begun != kEvents) Compute(200);
    };
    HostThread outside([&] { scheduler.AddTask(MakeTask(begins), nullptr, Of(Priority::Low)); });
    RunMain(scheduler, [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 2; ++i)
            self->AddTask(MakeTask(flood), nullptr, Of(Priority::High));
        for (uint32_t i = 0; i < 300; ++i) self->AddTask(MakeTask(normal));
        for (Event &event : events) event.Ask();
        for (uint32_t i = 0; i < 2; ++i)
            self->AddTask(MakeTask(begins), nullptr, PinnedTo(0, Priority::Low));
        self->AddTask(MakeTask(begins), nullptr, Of(Priority::Low));
        outside.Start();
    });
    outside.Join();
    // Each of the three late queues gets a sixth of the time. So a few tasks of 200 us run between
    // two tasks of the same queue.
    for (const Event &event : events)
        Check(event.late <= 10000 * kUs, "one of several queues starved");
}

// High tasks keep one worker busy, and one long task each keeps two others busy. Each of these two
// has two late queues, one of which stays late. The first worker must serve all four in turn.
void NoneOfOthersStarves() {
    Event events[2];
    uint32_t left = 2, full = 0;
    Repeated flood([&](TaskScheduler *self, Task again) {
        if (left == 0) return;
        self->AddTask(again, nullptr, Of(Priority::High));
        Compute(200);
    });
    auto normal = [&](TaskScheduler *) {
        if (left != 0) Compute(200);
    };
    auto low = [&](TaskScheduler *) { events[--left].Begin(); };
    auto owner = [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 200; ++i) self->AddTask(MakeTask(normal));
        self->AddTask(MakeTask(low), nullptr, Of(Priority::Low));
        ++full;
        while (left != 0) Compute(100);
    };
    StartedScheduler scheduler(FairOptions(3));
    for (uint32_t worker : {1u, 2u})
        scheduler.AddTask(MakeTask(owner), nullptr, PinnedTo(worker, Priority::High));
    scheduler.AddTask(MakeTask(flood), nullptr, PinnedTo(0, Priority::High));
    while (full != 2) Compute(100);
    for (Event &event : events) event.Ask();
    scheduler.Stop();
    for (const Event &event : events) {
        Check(event.over, "a late task of another worker did not begin");
        CheckSoon(event.late <= 10000 * kUs, "a late queue of another worker starved");
    }
}

// All fibers belong to Low tasks that sleep for longer than stallMilliseconds. A High task waits
// for a free fiber. It must begin with the first one, and OutOfFibers must be reported in time.
void SleepersHoldAllFibers() {
    static uint64_t reported;
    reported = 0;
    Event event;
    SchedulerOptions options = FairOptions(1);
    options.fibers = 5;
    const uint32_t kFibers = options.fibers + 1 + options.maxAttached;
    options.stallMilliseconds = 40;  // a worker without a fiber polls
    const uint64_t stall = options.stallMilliseconds;
    options.onReport = [](const Report &report, void *) {
        Check(report.code == ReportCode::OutOfFibers, "an unexpected report");
        reported = weft::env::Now();
    };
    uint32_t asleep = 0;
    auto sleeps = [&](TaskScheduler *scheduler) {
        ++asleep;
        SleepFor(*scheduler, std::chrono::milliseconds(9 * stall / 5));
    };
    auto high = [&](TaskScheduler *) { event.Begin(); };
    StartedScheduler scheduler(options);
    const uint64_t begun = weft::env::Now();
    for (uint32_t i = 0; i < kFibers; ++i)
        scheduler.AddTask(MakeTask(sleeps), nullptr, Of(Priority::Low));
    while (asleep != kFibers) Compute(100);
    Compute(100);  // so that the last task sleeps, too
    event.Ask();
    scheduler.AddTask(MakeTask(high), nullptr, Of(Priority::High));
    scheduler.Stop();
    CheckSoon(event.over && event.asked + event.late <= begun + (9 * stall / 5 + 1) * 1000 * kUs,
              "a task did not begin with the first free fiber");
    Check(reported != 0, "running out of fibers was not reported");
    CheckSoon(reported <= event.asked + (5 * stall / 4 + 1) * 1000 * kUs,
              "running out of fibers was reported late");
}

// All fibers wait. A pinned task of another group cannot begin on the thread of the first worker,
// nor can many older tasks. When the fibers become ready, each worker must find them.
void ReadyAmongTasksThatCannotBegin() {
    static constexpr WorkerGroup kGroups[2] = {{"first", 1}, {"second", 1}};
    Counters counters;
    Event event;
    SchedulerOptions options = FairOptions(2);
    options.groups = kGroups;
    options.groupCount = 2;
    options.fibers = 8;
    options.onReport = [](const Report &, void *) {};  // it runs out of fibers
    Counter *gate = counters.New(), *all = counters.New();
    auto waits = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(gate);
        if (!event.over) event.Begin();
    };
    auto nothing = [](TaskScheduler *) {};
    bool hasFiber = false;
    auto opens = [&](TaskScheduler *scheduler) {
        hasFiber = true;
        Compute(1000);
        scheduler->AddTask(MakeTask(nothing), all, PinnedTo(0));
        Compute(5000);
        event.Ask();
        scheduler->DecrementCounter(gate);
        Compute(30000);  // the other worker has to find them
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        scheduler->IncrementCounter(gate);
        scheduler->AddTask(MakeTask(opens), all, InGroup(1, Priority::High));
        while (!hasFiber) Compute(10);
        for (uint32_t i = 0; i < 40; ++i) scheduler->AddTask(MakeTask(waits), all, InGroup(0));
        scheduler->WaitForCounter(all);
    });
    for (Counter *counter : {gate, all}) Counters::Kill(counter);
    CheckSoon(event.late <= 2000 * kUs, "a ready fiber waited for tasks that cannot begin");
}

// Tasks end one after the other, and then one takes long. NoProgress must be reported when no task
// has ended for a millisecond, at most a quarter of it late, and not before.
void WatchdogTells() {
    static uint64_t reported;
    reported = 0;
    SchedulerOptions options = FairOptions(1 + Random(2));
    options.watchdogMilliseconds = 1;
    options.onReport = [](const Report &report, void *) {
        Check(report.code == ReportCode::NoProgress, "an unexpected report");
        Check(reported == 0, "NoProgress was reported twice");
        reported = weft::env::Now();
    };
    uint64_t ended = 0, longMicroseconds = 0;
    uint32_t microseconds = 0;
    auto computes = [&](TaskScheduler *) {
        Compute(microseconds);
        ended = weft::env::Now();
    };
    auto sleeps = [&](TaskScheduler *scheduler) {
        SleepFor(*scheduler, std::chrono::milliseconds(5));
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 8; ++i) {
            microseconds = Random(700);
            RunTask(scheduler, computes);
        }
        if (Random(2) != 0) {  // no worker is awake meanwhile
            RunTask(scheduler, sleeps);
            ended = weft::env::Now();
        }
        CheckSoon(reported == 0, "NoProgress was reported although tasks ended");
        longMicroseconds = Random(2) != 0 ? Random(700) : 1600 + Random(2000);
        Compute(longMicroseconds);
    });
    constexpr uint64_t kSlack = 150 * kUs;  // finished tasks are counted off later
    if (longMicroseconds < 800) {
        CheckSoon(reported == 0, "NoProgress was reported too early");
        return;
    }
    CheckSoon(reported != 0, "NoProgress was not reported");
    CheckSoon(reported >= ended + 1000 * kUs - kSlack, "NoProgress was reported too early");
    CheckSoon(reported <= ended + 1250 * kUs + kSlack, "NoProgress was reported too late");
}

// Tasks wait for a counter that is already at its value, while High tasks arrive. Such a wait lets
// others run first. With ResumeOn::SameWorker it must resume on the same worker.
void TurnsKeepTheWorker() {
    Counters counters;
    auto urgent = [&](TaskScheduler *) { Compute(Random(20)); };
    auto submitter = [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 20; ++i) {
            scheduler->AddTask(MakeTask(urgent), nullptr, Of(Priority::High));
            Compute(Random(20));
        }
    };
    auto stays = [&](TaskScheduler *scheduler) {
        Counter *none = counters.New();
        for (uint32_t i = 0; i < 20; ++i) {
            const uint32_t before = scheduler->CurrentWorker();
            scheduler->WaitForCounter(none, 0, ResumeOn::SameWorker);
            Check(scheduler->CurrentWorker() == before,
                  "a wait with ResumeOn::SameWorker ended on another worker");
            Compute(Random(20));
        }
        Counters::Kill(none);
    };
    RunCounted(FairOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        for (uint32_t i = 0; i < 3; ++i) AddEach(scheduler, counter, stays, submitter);
    });
}

// All fibers are in use, and some tasks poll and yield. A Low task must not starve: either a ready
// Low fiber with a Low task in front of it for which there is no fiber, or a Low task for which
// another task waits.
void NothingStarvesWithoutFibers() {
    Event event;
    Counters counters;
    const uint32_t workers = 1 + Random(2);
    SchedulerOptions options = FairOptions(workers);
    options.fibers = workers + 2;
    const bool isLimited = Random(2) != 0;
    test::LimitLow(options, isLimited ? 1 : 0);
    auto polls = [&](TaskScheduler *scheduler) { YieldUntil(event.over, scheduler, 100); };
    const auto begin = [&](const TaskScheduler *scheduler) {
        Check(!isLimited || scheduler->CurrentWorker() == 0,
              "a Low task ran in a group that runs none");
        event.Begin();
    };
    auto yields = [&](TaskScheduler *scheduler) {
        event.Ask();
        scheduler->Yield();
        begin(scheduler);
    };
    auto awaited = [&](TaskScheduler *scheduler) {
        begin(scheduler);
        scheduler->Yield();
        begin(scheduler);
    };
    auto behind = [&](TaskScheduler *) {};
    const bool isAwaited = Random(2) != 0;
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New(), *waiters = counters.New();
        auto waits = [&](TaskScheduler *waiter) { waiter->WaitForCounter(counter); };
        for (uint32_t i = 0; i < workers; ++i) scheduler->AddTask(MakeTask(polls));
        if (isAwaited) {
            event.Ask();
            scheduler->AddTask(MakeTask(awaited), counter, Of(Priority::Low));
            scheduler->AddTask(MakeTask(waits), waiters);
        } else {
            scheduler->AddTask(MakeTask(yields), counter, Of(Priority::Low));
            scheduler->AddTask(MakeTask(behind), counter, Of(Priority::Low));
        }
        polls(scheduler);
        for (Counter *each : {counter, waiters}) scheduler->WaitForCounter(each);
        for (Counter *each : {counter, waiters}) Counters::Kill(each);
    });
    Check(event.late <= 10000 * kUs, "a task waited longer than the bound");
}

// Tasks that are pinned to an inactive worker poll and yield until a Low task of the same worker
// has resumed from its own Yield. This task must not starve.
void NothingStarvesOnInactive() {
    Event event;
    auto polls = [&](TaskScheduler *scheduler) { YieldUntil(event.over, scheduler, 100); };
    auto yields = [&](TaskScheduler *scheduler) {
        event.Ask();
        scheduler->Yield();
        event.Begin();
    };
    RunCounted(FairOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(yields), counter, PinnedTo(1, Priority::Low));
        for (uint32_t i = 1 + Random(2); i != 0; --i)
            scheduler->AddTask(MakeTask(polls), counter, PinnedTo(1));
        scheduler->SetActiveWorkers(1);
    });
    Check(event.late <= 10000 * kUs, "a task waited longer than the bound");
}

// Endless High tasks, and Low tasks that are late. While the Low tasks are late, they must get
// between an eighth and a quarter of the time.
void LateWorkHasItsShare() {
    uint64_t low = 0, end = 0;
    const SchedulerOptions options = FairOptions(1);
    const uint64_t length = 50 + Random(200);
    Repeated urgent([&](TaskScheduler *scheduler, Task again) {
        if (weft::env::Now() >= end) return;
        scheduler->AddTask(again, nullptr, Of(Priority::High));
        Compute(100);
    });
    auto late = [&](TaskScheduler *) {
        if (weft::env::Now() >= end) return;
        Compute(length);
        low += length;
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        end = weft::env::Now() + 60000 * kUs;
        for (uint32_t i = 0; i < 400; ++i)
            scheduler->AddTask(MakeTask(late), nullptr, Of(Priority::Low));
        for (uint32_t i = 0; i < 2; ++i)
            scheduler->AddTask(MakeTask(urgent), nullptr, Of(Priority::High));
    });
    const uint64_t total = 60000 - 4000;
    Check(low * 9 >= total && low * 4 <= total + 4000,
          "late work did not get an eighth to a quarter of the time");
}

// All workers are busy when a deadline passes. A worker must process it at the end of its current
// task.
void DeadlinesInTime() {
    Event event;
    const uint32_t workers = 1 + Random(2);
    const SchedulerOptions options = FairOptions(workers);
    const uint32_t count = 20 + Random(60);
    auto busy = [&](TaskScheduler *) { Compute(100); };
    auto due = [&](TaskScheduler *) { event.Begin(); };
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        const uint32_t after = 100 + Random(800);
        event.asked = weft::env::Now() + after * kUs;
        AddTaskAt(*scheduler, Now() + std::chrono::microseconds(after), MakeTask(due), nullptr,
                  Of(Priority::High));
        AddMany(scheduler, Random(2) == 0, count, busy, counter);
    });
    Check(event.late <= (100 + 100) * kUs,
          "a deadline was later than the longest task and 100 microseconds");
}

// Normal tasks submit the next one, and a Normal task waits with a deadline. It goes on after the
// longest task, because its fiber becomes the newest entry, and no fair pick comes first.
void DeadlinesAmongEqual() {
    const uint32_t workers = 1 + Random(2);
    bool isOver = false;
    uint64_t late = 0;
    Repeated flood([&](TaskScheduler *scheduler, Task again) {
        if (isOver) return;
        Compute(100);
        scheduler->AddTask(again);
    });
    RunMain(FairOptions(workers), [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 4 * workers; ++i) scheduler->AddTask(MakeTask(flood));
        for (uint32_t i = 0; i < 20; ++i) {
            const uint64_t due = weft::env::Now() + (500 + Random(500)) * kUs;
            SleepUntil(*scheduler, Clock::time_point(std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::nanoseconds(due))));
            late = std::max(late, weft::env::Now() - due);
        }
        isOver = true;
    });
    CheckSoon(late <= (100 + 100) * kUs,
              "a deadline was later than the longest task and 100 microseconds");
}

// A batch has short tasks and a run of long ones. Workers that claim many tasks, because the first
// ones were short, must not keep the long ones while others are idle.
void ClaimsAreShared() {
    const SchedulerOptions options = FairOptions(2);
    const uint32_t first = Random(200);
    uint64_t took = 0;
    IndexedTasks tasks(256, [&](TaskScheduler *, uint32_t index) {
        if (index >= first && index < first + 40) Compute(100);
    });
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter counter;
        const uint64_t begin = weft::env::Now();
        scheduler->AddTasks(256, tasks.data(), &counter);
        scheduler->WaitForCounter(&counter);
        took = weft::env::Now() - begin;
    });
    CheckSoon(took <= (40 * 100 / 2 + 400) * kUs, "a worker kept tasks that others could have run");
}

// Some tasks are Low, and only one worker may run these. Tasks without a counter submit them beside
// Normal ones. Each must begin soon.
void LowBesideNormal() {
    SchedulerOptions options = Random(2) != 0 ? FairOptions(3) : Options(3, 7);
    uint32_t done = 0;
    const uint64_t begin = weft::env::Now();
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto submit = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(leaf), nullptr,
                           Of(Random(2) != 0 ? Priority::Low : Priority::Normal));
    };
    test::LimitLow(options, 1);
    RunMain(options, [&](TaskScheduler *scheduler) { AddBatch(scheduler, 3, submit); });
    Check(done == 3, "a task was lost");
    CheckSoon(weft::env::Now() < begin + 20'000 * kUs, "a task waited although a worker was idle");
}

// There are no workers. A thread detaches while its own Low tasks yield. DetachThread must run them
// to the end without a pause.
void DetachesBesideLow() {
    CountNanoseconds();
    SchedulerOptions options = Options(0, 9);
    options.maxAttached = 1;
    StartedScheduler scheduler(options);
    Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    uint32_t done = 0;
    auto yields = [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 4; ++i) self->Yield();
        ++done;
    };
    for (uint32_t i = 0; i < 3; ++i)
        scheduler.AddTask(MakeTask(yields), nullptr, Of(Priority::Low));
    const uint64_t begin = weft::env::Now();
    scheduler.DetachThread();
    Check(done == 3, "a task of the thread has not run");
    Check(weft::env::Now() - begin <= 20 * kUs, "tasks of a thread that detaches waited too long");
    scheduler.Stop();
}

// The number of atomic operations that the one worker makes for a task of an external thread, with
// so many fibers. It is counted from one task to the next, so it includes the way into sleep and
// out of it. Returns the smallest of a few counts.
uint64_t StepsOfOneTask(uint32_t fibers) {
    SchedulerOptions options = FairOptions(1);
    options.fibers = fibers + 1;
    StartedScheduler scheduler(options);
    uint64_t before = 0, least = ~uint64_t{0};
    auto leaf = [&](TaskScheduler *) {
        const uint64_t steps = OwnSteps();
        if (before != 0) least = std::min(least, steps - before);
        before = steps;
    };
    for (int i = 0; i < 6; ++i) {
        AddAndWait(&scheduler, leaf);
        Compute(100);  // the worker falls asleep
    }
    scheduler.Stop();
    return least;
}

// What an idle scheduler does must not be proportional to its number of fibers. It may look at the
// pool in words of 64 bits.
void IdleDoesNotScan() {
    Check(StepsOfOneTask(2048) < StepsOfOneTask(128) + 1920 / 16,
          "the work of an idle scheduler grows with the number of its fibers");
}

// Low tasks run one after the other on the only worker that may run them. The other workers must
// not be woken for them.
void LimitWakesOne() {
    uint32_t woken = 0, done = 0;
    SchedulerOptions options = FairOptions(4);
    test::LimitLow(options, 1);
    options.trace.user = &woken;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Unpark);
    options.trace.event = [](const TraceEvent &event, void *user) {
        if (event.worker != 0) ++*static_cast<uint32_t *>(user);
    };
    auto leaf = [&](TaskScheduler *) {
        Compute(5);
        ++done;
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        Compute(200);  // the other workers fall asleep
        woken = 0;
        Counter counter;
        for (int i = 0; i < 100; ++i)
            scheduler->AddTask(MakeTask(leaf), &counter, Of(Priority::Low));
        scheduler->WaitForCounter(&counter);
        Check(woken <= 8, "workers were woken for Low tasks that they may not run");
    });
    Check(done == 100, "a task was lost");
}

// A task waits with a deadline in 2 ms beside tasks of 10 ms. Meanwhile does not allow its worker
// to begin these tasks. So the wait must end soon after the deadline.
void WaitKeepsBudget() {
    Counter never(1);
    const Meanwhile meanwhile = static_cast<Meanwhile>(1 + Random(4));
    const Priority priority =
        meanwhile == Meanwhile::NormalOrHigher ? Priority::Low : Priority::Normal;
    uint32_t done = 0;
    auto slow = [&](TaskScheduler *) {
        Compute(10'000);
        ++done;
    };
    auto quick = [&](TaskScheduler *) {
        Compute(20);
        ++done;
    };
    RunCounted(FairOptions(2), [&](TaskScheduler *scheduler, Counter *counter) {
        for (int i = 0; i < 4; ++i) scheduler->AddTask(MakeTask(slow), counter, Of(priority));
        scheduler->AddTask(MakeTask(quick), counter, Of(Priority::High));
        const Clock::time_point deadline = Now() + std::chrono::milliseconds(2);
        Check(!WaitForCounterUntil(*scheduler, &never, deadline, meanwhile),
              "a wait ended although its counter was never reached");
        CheckSoon(Now() - deadline <= std::chrono::microseconds(20 + 50),
                  "a wait with a deadline was late");
    });
    Check(done == 5, "a task was lost");
}

// As many tasks as workers meet. One worker may run only some of the work. It sleeps, and so do
// some of the others, while one searches. It must be woken even if the searcher will wake the
// others.
void WakesTheChoosy() {
    static constexpr WorkerGroup kGroups[2] = {{"open", 3, 0, nullptr, 0, false, true},
                                               {"named", 1, 0, nullptr, 0, true, true}};
    SchedulerOptions options = Options(4, 8);
    options.groups = kGroups;
    options.groupCount = 2;
    weft::env::Atomic<uint32_t> begun{0};
    auto brief = [](TaskScheduler *) {};
    auto meets = [&](TaskScheduler *) {
        begun.fetch_add(1, std::memory_order_relaxed);
        while (begun.load(std::memory_order_relaxed) != 4) weft::env::Pause();
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        Compute(1000);  // the other workers fall asleep
        RunTask(scheduler, brief);
        AddBatchAndWait(scheduler, 4, meets, Of(Priority::Low));
    });
    Check(begun.load(std::memory_order_relaxed) == 4, "a task was lost");
}

// Three workers sleep that may run only some of the work: tasks of their group, and Low ones. A
// batch of such tasks must wake two of them at once. These wake others when they have found work.
void WakesTwoChoosy() {
    static constexpr WorkerGroup kGroups[2] = {{"open", 1, 0, nullptr, 0, false, true},
                                               {"named", 3, 0, nullptr, 0, true, true}};
    struct Seen {
        uint32_t asleep = 0, woken = 0, byMain = 0;
    } seen;
    uint32_t done = 0;
    SchedulerOptions options = FairOptions(4);
    options.groups = kGroups;
    options.groupCount = 2;
    options.trace.user = &seen;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Wake) | TraceHooks::Bit(TraceKind::Park) |
                          TraceHooks::Bit(TraceKind::Unpark);
    options.trace.event = [](const TraceEvent &event, void *user) {
        Seen &its = *static_cast<Seen *>(user);
        its.woken += event.kind == TraceKind::Wake ? 1 : 0;
        its.byMain += event.kind == TraceKind::Wake && event.worker == 0 ? 1 : 0;
        its.asleep += event.kind == TraceKind::Park ? 1 : 0;
        its.asleep -= event.kind == TraceKind::Unpark ? 1 : 0;
    };
    auto leaf = [&](TaskScheduler *) { ++done; };
    const TaskOptions lows = InGroup(Random(2) != 0 ? 1 : kAnyGroup, Priority::Low);
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        Compute(1000);  // the other workers fall asleep
        const bool allSleep = seen.asleep == 3;
        seen.woken = seen.byMain = 0;
        AddBatch(scheduler, 3, leaf, counter, lows);
        CheckSoon(!allSleep || (seen.woken >= 2 && seen.byMain <= 2),
                  "a batch did not wake two of the workers that may run it");
    });
    Check(done == 3, "a task was lost");
}

// There are as many tasks as workers, all but one of which sleep. A wake-up takes 50 us. Each
// worker that wakes must wake up to three others, so that all tasks begin after a few levels of a
// tree. If the tasks are submitted one by one, their submitter wakes only one worker. A thief may
// hold the last two tasks while another woken worker searches. That one sleeps again and is woken
// for the second of them, so the last task may begin one wake-up later.
void WakesLikeATree() {
    constexpr uint64_t kLatency = 50 * kUs;
    const bool isBatch = Random(2) != 0;
    const uint32_t levels = 1 + Random(3);
    uint32_t workers = 1;
    for (uint32_t level = 0, wakes = isBatch ? 3 : 1; level < levels; ++level, wakes *= 3)
        workers += wakes;
    uint32_t begun = 0;
    uint64_t asked = 0, beforeLast = 0, last = 0;
    SchedulerOptions options = FairOptions(workers);
    options.fibers = 2 * workers + 1;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Unpark);
    options.trace.event = [](const TraceEvent &, void *) { Compute(50); };
    auto task = [&](TaskScheduler *) {
        beforeLast = last;
        last = weft::env::Now();
        ++begun;
        Compute(5000);
    };
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        Compute(1000);  // the other workers fall asleep
        asked = weft::env::Now();
        AddMany(scheduler, isBatch, workers, task, counter);
    });
    Check(begun == workers, "a task was lost");
    const uint64_t limit = asked + levels * kLatency + 40 * kUs;
    CheckSoon(beforeLast <= limit && last <= limit + kLatency,
              "workers were woken one after the other");
}

// Workers are woken for tasks that others run first. Later each of them is woken for a pinned task.
// It must not wake other workers for the earlier tasks. It may wake one, because it was the last
// searcher.
void WakesNobodyLater() {
    constexpr uint32_t kWorkers = 9;
    Counters counters;
    uint32_t unparked = 0, most = 0;
    SchedulerOptions options = FairOptions(kWorkers);
    options.trace.user = &unparked;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Unpark);
    options.trace.event = [](const TraceEvent &, void *count) {
        ++*static_cast<uint32_t *>(count);
        Compute(50);
    };
    auto empty = [](TaskScheduler *) {};
    RunMain(options, [&](TaskScheduler *scheduler) {
        Compute(1000);  // the other workers fall asleep
        AddBatchAndWait(scheduler, kWorkers, empty);
        Compute(1000);
        for (uint32_t worker = 1; worker < kWorkers; ++worker) {
            unparked = 0;
            Counter *counter = counters.New();
            scheduler->AddTask(MakeTask(empty), counter, PinnedTo(worker));
            Compute(1000);
            WaitAndKill(scheduler, counter);
            most = std::max(most, unparked);
        }
    });
    Check(most <= 2, "a worker woke others for tasks that had been taken");
}

// A High task waits for Normal tasks. They count as High, so another worker must run them before
// the Normal tasks of its own lane.
void AwaitedTasksAreHigh() {
    Counters counters;
    Counter *const rest = counters.New();
    uint32_t done = 0;
    uint64_t took = ~uint64_t{0};
    auto normal = [&](TaskScheduler *) {
        Compute(1000);
        ++done;
    };
    auto loads = [&](TaskScheduler *scheduler) {  // into its worker's own lane
        for (int i = 0; i < 30; ++i) scheduler->AddTask(MakeTask(normal), rest);
        Compute(1000);
    };
    const bool raises = Random(2) != 0;  // the task raises its priority itself
    auto waits = [&](TaskScheduler *scheduler) {
        if (raises) scheduler->SetPriority(Priority::High);
        Counter *counter = counters.New();
        for (int i = 0; i < 8; ++i) scheduler->AddTask(MakeTask(normal), counter);
        const uint64_t begin = weft::env::Now();
        scheduler->WaitForCounter(counter);
        took = weft::env::Now() - begin;
        Counters::Kill(counter);
    };
    RunMain(FairOptions(2), [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(loads), counter);
        Compute(500);  // by now another worker has taken it
        scheduler->AddTask(MakeTask(waits), counter,
                           Of(raises ? Priority::Normal : Priority::High));
        WaitAndKill(scheduler, counter, rest);
    });
    Check(done == 38, "a task was lost");
    // Two workers share the tasks, after the other one has finished its current task.
    CheckSoon(took <= 5000 * kUs + 200 * kUs,
              "the tasks that a High task waits for were not shared");
}

// Workers run tasks of one counter, one after the other, while a waiter waits for a value above
// zero. The pending decrements must not delay this wait by more than one task of each worker and
// 100 microseconds. The same bound holds for Counter::Value.
void ValuesInTime() {
    enum Kind : uint32_t { Fiber, Outside, Timed, After, Poll, kKinds };
    constexpr uint32_t kTasks = 60, kValue = 30;
    Counters counters;
    const uint32_t workers = 1 + Random(2);
    const uint64_t length = Random(2) != 0 ? 2 + Random(15) : 50 + Random(200);
    const bool isBatch = Random(2) != 0;
    const Kind kind = static_cast<Kind>(Random(kKinds));
    const uint64_t before = Random(3) * length * kTasks / 4;  // the wait begins while they run
    // Short tasks and then longer ones. Counter::Value may be late by more in that case, so Poll
    // has none.
    const uint32_t shortTasks = kind == Poll ? 0 : Random(2) * (kTasks - kValue - 5);
    Counter *const counter = counters.New(), *const rest = counters.New();
    uint32_t finished = 0;
    Event event;
    bool isOver = false;
    auto task = [&](TaskScheduler *) {
        if (finished >= shortTasks) Compute(length);
        if (++finished == kTasks - kValue) event.asked = weft::env::Now();
    };
    auto ends = [&](TaskScheduler *) {
        isOver = true;
        event.over = true;
        event.late = weft::env::Now();  // the time of the end, not a delay; see below
    };
    auto waits = [&](TaskScheduler *self) {
        if (kind == Timed) {
            Check(WaitForCounterFor(*self, counter, std::chrono::hours(1), kValue),
                  "a wait for an hour timed out");
        } else {
            self->WaitForCounter(counter, kValue);
        }
        ends(self);
    };
    StartedScheduler scheduler(FairOptions(workers));
    bool isSubmitted = false;
    auto submits = [&](TaskScheduler *self) {
        AddMany(self, isBatch, kTasks, task, counter);
        isSubmitted = true;
    };
    scheduler.AddTask(MakeTask(submits), rest);
    while (!isSubmitted) Compute(1);
    Compute(before);
    const uint64_t waitsSince = weft::env::Now();
    if (kind == Outside) {
        scheduler.WaitForCounter(counter, kValue);
        ends(&scheduler);
    } else if (kind == Poll) {
        while (counter->Value() > kValue) Compute(20);
        ends(&scheduler);
    } else if (kind == After) {
        AddTaskAfter(scheduler, counter, kValue, MakeTask(ends), rest, Of(Priority::High));
    } else {
        scheduler.AddTask(MakeTask(waits), rest, Of(Priority::High));
    }
    scheduler.WaitForCounter(counter);
    scheduler.WaitForCounter(rest);
    scheduler.Stop();
    for (Counter *each : {counter, rest}) Counters::Kill(each);
    Check(finished == kTasks && isOver, "a task was lost");
    // A fiber that was made ready begins after the current task of its worker.
    const uint64_t since = std::max(event.asked, waitsSince);
    CheckSoon(event.late <= since + (2 * length + 100 + 40) * kUs, "a wait for a value was late");
}

// A counter reaches a value only for a moment, between two tasks of a claim. The second task
// submits more tasks of the counter after that, which wait for the waiter. The waiter must be
// notified, although decrements are pending. Otherwise the model ends in a deadlock.
void ValuePassesInClaim() {
    constexpr uint32_t kTasks = 20, kValue = 10;
    Counters counters;
    Counter *const counter = counters.New(), *const gate = counters.New(1);
    uint32_t finished = 0;
    auto leaf = [&](TaskScheduler *self) { self->WaitForCounter(gate); };
    auto task = [&](TaskScheduler *self) {
        if (++finished <= kTasks - kValue) return;
        if (finished == kTasks - kValue + 1) Compute(100);
        AddBatch(self, 2, leaf, counter);
    };
    StartedScheduler scheduler(FairOptions(1));
    auto submits = [&](TaskScheduler *self) { AddBatch(self, kTasks, task, counter); };
    scheduler.AddTask(MakeTask(submits));
    if (Random(2) != 0) Compute(2);
    while (finished < kTasks - kValue) Compute(2);
    scheduler.WaitForCounter(counter, kValue);
    scheduler.DecrementCounter(gate);
    scheduler.WaitForCounter(counter);
    scheduler.Stop();
    for (Counter *each : {counter, gate}) Counters::Kill(each);
}

// Two tasks wake each other in turn, and another worker is idle. Both tasks must stay on one
// worker. But when one task wakes the other one and then continues to compute, the idle worker must
// take the woken one soon.
void HandOversStay() {
    constexpr uint32_t kTurns = 200;
    Counters counters;
    uint32_t turns = 0, moves = 0;
    Event event;
    struct Player {
        uint32_t last = kAnyWorker;
        Counter *own = nullptr, *others = nullptr;
    } players[2];
    const auto arrive = [&](Player &self, TaskScheduler &scheduler) {
        const uint32_t worker = scheduler.CurrentWorker();
        moves += self.last != kAnyWorker && self.last != worker ? 1 : 0;
        self.last = worker;
    };
    auto first = [&](TaskScheduler *scheduler) {
        for (; turns < kTurns; ++turns) {
            scheduler->IncrementCounter(players[0].own);
            scheduler->DecrementCounter(players[0].others);
            scheduler->WaitForCounter(players[0].own);
            arrive(players[0], *scheduler);
        }
        if (Random(3) == 0) RestartTicks();
        event.Ask();
        scheduler->DecrementCounter(players[0].others);
        Compute(100);
    };
    auto second = [&](TaskScheduler *scheduler) {
        for (;;) {
            scheduler->WaitForCounter(players[1].own);
            arrive(players[1], *scheduler);
            if (turns == kTurns) break;
            scheduler->IncrementCounter(players[1].own);
            scheduler->DecrementCounter(players[1].others);
        }
        event.Begin();
    };
    SchedulerOptions options = FairOptions(2);
    options.idle = IdlePolicy::Balanced;  // the other worker searches
    for (int i = 0; i < 2; ++i)
        players[i].own = players[1 - i].others = counters.New(i == 0 ? 0 : 1);
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        AddEach(scheduler, counter, first, second);
    });
    Check(moves <= 50, "tasks that wake each other were stolen again and again");
    CheckSoon(event.late <= 25 * kUs + kThiefRests,
              "a task that was woken while a worker was idle began late");
}

// A worker runs tasks of one counter and then tasks of another one. It keeps decrements pending
// from one task to the next. A wait for zero must not be delayed by the tasks that it does not
// count.
void ZeroInTime() {
    constexpr uint32_t kTasks = 40;
    Counters counters;
    const uint32_t workers = 1 + Random(2);
    const bool isBatch = Random(2) != 0;
    const uint64_t length = Random(8);
    Counter *const counter = counters.New(), *const others = counters.New();
    uint32_t finished = 0;
    Event event;
    auto task = [&](TaskScheduler *) {
        Compute(length);
        if (++finished == kTasks) event.Ask();
    };
    auto other = [&](TaskScheduler *) { Compute(1000); };
    StartedScheduler scheduler(FairOptions(workers));
    auto submits = [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 4; ++i) self->AddTask(MakeTask(other), others);
        AddMany(self, isBatch, kTasks, task, counter);
    };
    Check(scheduler.IncrementCounter(counter), "IncrementCounter failed");
    AddAndWait(&scheduler, submits);
    scheduler.DecrementCounter(counter);
    scheduler.WaitForCounter(counter);
    event.Begin();
    Counters::Kill(counter);
    WaitAndKill(&scheduler, others);
    scheduler.Stop();
    Check(finished == kTasks, "a task was lost");
    CheckSoon(event.late <= 50 * kUs, "a wait for zero was late");
}

}  // namespace

std::vector<Model> FairModels() {
    return {
        {"wake_tree", "as many tasks as workers; all workers but one sleep", WakesLikeATree},
        {"wake_choosy", "as many tasks as workers; one worker may run only some of the work",
         WakesTheChoosy},
        {"wake_two_choosy", "a batch for three sleepers that may run only some of the work",
         WakesTwoChoosy, 4},
        {"wake_later", "workers are woken in vain, and later for a pinned task", WakesNobodyLater},
        {"hand_over_stays", "two tasks wake each other while a worker is idle", HandOversStay},
        {"budget", "a restricted wait of 2 ms, while tasks of 10 ms run", WaitKeepsBudget},
        {"low_beside", "Low tasks for one worker beside Normal ones", LowBesideNormal},
        {"idle_scans", "an empty task on an idle scheduler with few and with many fibers",
         IdleDoesNotScan, 40},
        {"low_wakes", "Low tasks that one of four workers may run", LimitWakesOne, 20},
        {"detach_low", "a thread detaches while Low tasks yield", DetachesBesideLow},
        {"turn_outside", "an external High task, while all workers run loops of waits",
         [] { LoopsGiveTurns(true); }},
        {"turn_inside", "a pinned task or a deadline, while all workers run loops of waits",
         [] { LoopsGiveTurns(false); }},
        {"turn_same_worker",
         "waits with ResumeOn::SameWorker that return at once, while High tasks come",
         TurnsKeepTheWorker},
        {"high_first", "a High task in the lane of a busy worker, Normal ones in other lanes",
         HighGoesFirst},
        {"high_lends", "Normal tasks that a High task waits for, among other Normal ones",
         AwaitedTasksAreHigh},
        {"kept_values", "waits for values of a counter, whose tasks run one after the other",
         ValuesInTime, 4},
        {"kept_passed", "a value that is reached between two tasks of a claim", ValuePassesInClaim,
         4},
        {"kept_zero", "a wait for zero, and tasks of another counter behind the counted ones",
         ZeroInTime, 4},
        {"aging_oldest", "a Low task or the oldest Normal one, while others keep coming",
         NothingStarves, 10},
        {"aging_lost", "the two oldest tasks; the worker loses its processor in the first one",
         LostTimeMakesNoPause, 20},
        {"aging_others", "late queues of two busy workers, while a third one runs High tasks",
         NoneOfOthersStarves, 20},
        {"aging_several", "Normal tasks that stay late, and Low, pinned and external ones",
         NoneOfSeveralStarves, 20},
        {"polls_turns", "tasks that poll and yield, one of them pinned, beside one that is not",
         PollingTasksLeaveTurns, 2},
        {"pinned_polls", "pinned tasks of a group poll for a task of their worker's group",
         PinnedTasksPoll, 10},
        {"sleepers_report", "a High task, while all fibers belong to sleeping Low tasks",
         SleepersHoldAllFibers},
        {"ready_no_fiber", "ready fibers among tasks that lack fibers, a pinned one with them",
         ReadyAmongTasksThatCannotBegin, 20},
        {"watchdog", "tasks that end, then one that takes long; watchdogMilliseconds is 1",
         WatchdogTells},
        {"aging_no_fiber", "a Low task, while polling tasks hold all fibers",
         NothingStarvesWithoutFibers, 20},
        {"aging_inactive", "a Low fiber among polling ones, pinned to an inactive worker",
         NothingStarvesOnInactive, 20},
        {"aging_share", "the share of time of late work", LateWorkHasItsShare, 40},
        {"deadline_late", "a deadline while all workers are busy", DeadlinesInTime, 4},
        {"deadline_equal", "a Normal task's deadlines among Normal tasks that submit the next one",
         DeadlinesAmongEqual, 20},
        {"claim_shared", "a batch of short and long tasks", ClaimsAreShared, 4},
    };
}

}  // namespace simulator
