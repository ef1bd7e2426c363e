// Models of rare states: work that lies where few look for it, and waits that go a long way.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <chrono>

namespace simulator {

namespace {

using std::chrono::hours;
using std::chrono::microseconds;

// A fair pick has taken an old chunk, and the rest lies behind all other work. Fair picks take it
// from there. They must also take from the deque of a worker that does not come back to it.
void OldAndOthers() {
    constexpr uint32_t kOld = 60;
    const uint32_t length = 50 + Random(100);
    Counters counters;
    Counter *const all = counters.New();
    Event event;
    bool isOver = false, hoards = false;
    uint32_t ran = 0;
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    auto holds = [&](TaskScheduler *scheduler) {
        hoards = true;
        while (ran < 2) Compute(20);
        event.Ask();
        scheduler->AddTask(MakeTask(begins), all);
        while (!isOver) Compute(20);
    };
    auto old = [&](TaskScheduler *) {
        ++ran;
        Compute(length);
        isOver = event.over || ran == kOld;
    };
    Repeated loop([&](TaskScheduler *scheduler, Task again) {
        Compute(length);
        if (!isOver) scheduler->AddTask(again, all);
    });
    RunMain(FairOptions(2), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(holds), all);
        while (!hoards) Compute(20);
        AddBatch(scheduler, kOld, old, all);
        AddEach(scheduler, all, loop, loop, loop);
        WaitAndKill(scheduler, all);
    });
    CheckSoon(event.late <= (15'000 + 20 * length) * kUs,
              "old chunks kept fair picks from the deques of others");
}

// There are no workers. A thread detaches when the rest of a chunk lies behind all other work. It
// must run the rest first.
void DetachBehind() {
    SchedulerOptions options = Options(0, 9);
    options.maxAttached = 1;
    StartedScheduler scheduler(options);
    Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    const uint32_t count = 20 + Random(20);  // one chunk
    uint32_t ran = 0, last = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto newest = [&](TaskScheduler *) { ++last; };
    Counter all, one;
    for (uint32_t yields = Random(3); yields != 0; --yields) scheduler.Yield();
    AddBatch(&scheduler, count, leaf, &all);
    scheduler.AddTask(MakeTask(newest), &one);
    scheduler.Yield();  // the next pick is a fair one
    scheduler.WaitForCounter(&one);
    scheduler.DetachThread();
    Check(ran == count && last == 1, "a thread detached before it had run all tasks");
    scheduler.Stop();
}

// A worker waits with HighOnly and sleeps. The other one is to keep a deadline, but gets a long
// task. The first one must keep the deadline then.
void KeeperGetsWork() {
    Counters counters;
    Counter *const gate = counters.New(1), *const all = counters.New();
    Event event;
    const uint32_t due = 500 + Random(1500);
    StartedScheduler scheduler(FairOptions(2));
    auto restricted = [&](TaskScheduler *self) { self->WaitForCounter(gate, Meanwhile::HighOnly); };
    auto longer = [&](TaskScheduler *) { Compute(6000); };
    auto timed = [&](TaskScheduler *) { event.Begin(); };
    // Each worker has run a task before: it has its fiber.
    auto leaf = [](TaskScheduler *) {};
    for (uint32_t i = 0; i < 2; ++i) scheduler.AddTask(MakeTask(leaf), all, PinnedTo(i));
    scheduler.WaitForCounter(all);
    scheduler.AddTask(MakeTask(restricted), all);
    Compute(200 + Random(20));
    event.asked = weft::env::Now() + due * kUs;
    Check(AddTaskAt(scheduler, Now() + microseconds(due), MakeTask(timed), all, Of(Priority::High)),
          "AddTaskAt failed");
    if (Random(2) != 0) Compute(Random(due - 50));
    scheduler.AddTask(MakeTask(longer), all);
    Compute(due + 8000);
    Check(event.over, "a deadline was lost");
    CheckSoon(event.late <= 50 * kUs, "nobody kept a deadline");
    scheduler.DecrementCounter(gate);
    WaitAndKill(&scheduler, all);
    scheduler.Stop();
}

// Tasks of a chunk go on later as other tasks, which take their places in the counter. Others of
// the chunk add tasks to the counter. It must be zero when all have ended, and not before.
void ClaimGoesOn() {
    constexpr uint32_t kTasks = 24;
    CountNanoseconds();  // a worker keeps a chunk only while its tasks are short
    Counters counters;
    Counter *const counter = counters.New(), *const gate = counters.New(1);
    uint32_t kinds[kTasks], begun = 0, ended = 0, added = 0;
    for (uint32_t &kind : kinds) kind = Random(4);
    auto rest = [&](TaskScheduler *) { ++ended; };
    IndexedTasks tasks(kTasks, [&](TaskScheduler *scheduler, uint32_t index) {
        if (++begun == kTasks) scheduler->DecrementCounter(gate);
        if (kinds[index] == 0) {
            Check(weft::internal::ContinueAfter(*scheduler, gate, 0, MakeTask(rest), counter, {}),
                  "ContinueAfter failed");
            return;
        }
        if (kinds[index] == 1) {
            added += 3;
            AddBatch(scheduler, 3, rest, counter);
            if (Random(2) != 0) scheduler->PrepareToBlock();
        }
        ++ended;
    });
    SchedulerOptions options = Options(1 + Random(2), 41);
    options.idle = IdlePolicy::Sleep;
    auto leaf = [](TaskScheduler *) {};
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 3; ++i) RunBatch(scheduler, 50, leaf);
        scheduler->AddTasks(kTasks, tasks.data(), counter);
        scheduler->WaitForCounter(counter);
        Check(ended == kTasks + added, "a wait ended before all tasks");
        Counters::Kill(counter);
    });
}

// A worker waits with OwnTasks. It looks whether the wait needs a task, and so looks at deferred
// tasks that follow it. A thread withdraws these meanwhile, and destroys their counters. The other
// worker runs nothing else.
void OwnLooksAtWithdrawn() {
    constexpr uint32_t kDeferred = 4;
    Counters counters;
    Counter *const own = counters.New(1), *const before = counters.New(),
                   *const gate = counters.New(1), *const all = counters.New(),
                   *const ready = counters.New(1);
    bool isRestricted = false;
    uint32_t ran = 0;
    StartedScheduler scheduler(Options(2, 9));
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto restricted = [&](TaskScheduler *self) {
        isRestricted = true;
        self->WaitForCounter(gate, Meanwhile::HighOnly);
    };
    DeferredHandle handles[kDeferred];
    Counter *done[kDeferred];
    const CounterTarget target{before};
    auto waits = [&](TaskScheduler *self) {
        while (!isRestricted) weft::env::Pause();
        self->IncrementCounter(before);  // nobody else may end it
        for (uint32_t i = 0; i < kDeferred; ++i) {
            done[i] = counters.New();
            Check(AddTaskAfter(*self, 1, &target, MakeTask(leaf), done[i], Of(Priority::High),
                               &handles[i]),
                  "AddTaskAfter failed");
        }
        for (uint32_t i = 0; i < 6; ++i) self->AddTask(MakeTask(leaf), before);
        self->DecrementCounter(ready);
        self->WaitForCounter(own, Meanwhile::OwnTasks);
        self->DecrementCounter(before);
    };
    AddEach(&scheduler, all, restricted, waits);
    scheduler.WaitForCounter(ready);
    for (uint32_t steps = Random(300); steps != 0; --steps) own->IsZero();
    for (uint32_t i = 0; i < kDeferred; ++i) {
        Check(Withdraw(scheduler, handles[i]), "a batch was not withdrawn");
        scheduler.WaitForCounter(done[i]);
        Counters::Kill(done[i]);
        for (uint32_t steps = Random(40); steps != 0; --steps) own->IsZero();
    }
    scheduler.DecrementCounter(own);
    scheduler.DecrementCounter(gate);
    scheduler.WaitForCounter(all);
    scheduler.WaitForCounter(before);
    scheduler.Stop();
    Check(ran == 6, "a withdrawn task ran, or a task was lost");
}

// What a wait with OwnTasks needs lies among other work, and only this wait may run it. A task of
// the awaited counter waits for it in different ways.
void OwnNeedsAfar() {
    Counters counters;
    Counter *const own = counters.New(), *const need = counters.New(1),
                   *const never = counters.New(1), *const others = counters.New(),
                   *const gate = counters.New(1);
    const uint32_t form = Random(4), count = 1 + Random(60);
    uint32_t ran = 0;
    bool isRestricted = false, isWaiting = false, isOver = false;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto stranger = [&](TaskScheduler *) {};
    auto restricted = [&](TaskScheduler *self) {
        isRestricted = true;
        self->WaitForCounter(gate, Meanwhile::HighOnly);
    };
    auto inner = [&](TaskScheduler *self) { self->WaitForCounter(need); };
    auto needs = [&](TaskScheduler *self) {
        isWaiting = true;
        Counter *const counter = counters.New();
        Counter *const either[2] = {never, need};
        switch (form) {
            case 0:
                Check(self->WaitForAny(2, either) == 1, "a wait ended for a wrong counter");
                break;
            case 1:  // through another task
                self->AddTask(MakeTask(inner), counter);
                WaitForCounterFor(*self, counter, hours(1));
                break;
            case 2:  // through a deferred task
                Check(AddTaskAfter(*self, need, 0, MakeTask(stranger), counter), "no AddTaskAfter");
                self->WaitForCounter(counter);
                break;
            default:
                self->WaitForCounter(need);
        }
        isOver = true;
    };
    RunMain(Options(2, 13), [&](TaskScheduler *self) {
        self->AddTask(MakeTask(restricted), others, PinnedTo(1 - self->CurrentWorker()));
        while (!isRestricted) weft::env::Pause();
        self->AddTask(MakeTask(needs), own);
        for (uint32_t yields = 2 + Random(3); yields != 0 || !isWaiting; --yields) self->Yield();
        AddBatch(self, count, leaf, need);
        self->DecrementCounter(need);
        self->AddTask(MakeTask(stranger), others);
        if (Random(2) != 0) self->Yield();  // the next pick is a fair one
        self->WaitForCounter(own, Meanwhile::OwnTasks);
        Check(isOver && ran == count, "a wait with OwnTasks ended too early");
        self->DecrementCounter(gate);
        self->WaitForCounter(others);
        for (Counter *each : {own, need}) Counters::Kill(each);
    });
}

// A task goes on as another one when a counter is reached, or at a deadline. One of the two comes
// soon, the other one never. When the wait is over, it does not touch the counter any more, and its
// object is free.
void TimedGoesOn() {
    Counters counters;
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    constexpr uint32_t kMost = 32;  // objects: caches take several
    for (uint32_t round = 0; round < kMost + 8; ++round) {
        const bool isLowered = Random(2) != 0, isRaised = Random(2) != 0;
        Counter *const awaited = counters.New(1), *const done = counters.New();
        const Clock::time_point end =
            Now() + (isLowered ? Clock::duration(hours(1)) : Clock::duration(microseconds(50)));
        weft::internal::TimedWait wait;
        wait.awaited = awaited;
        uint32_t ended = 0;
        auto goesOn = [&](TaskScheduler *self) {
            Check(wait.wait < kMost || wait.wait == wait.kNone, "an object of a wait was lost");
            const bool isReached = weft::internal::EndTimedWait(*self, wait);
            Check(isReached == isLowered, "a wait with a deadline has a wrong result");
            Check(isLowered ? Now() < end : Now() >= end,
                  "a wait with a deadline ended at a wrong time");
            ++ended;
        };
        const Task rest = MakeTask(goesOn);
        auto begins = [&](TaskScheduler *self) {
            if (!weft::internal::ContinueAfterOrAt(*self, wait, end, rest, done, {}))
                rest.function(self, rest.arg);
        };
        scheduler.AddTask(MakeTask(begins), done);
        // else the task could begin when the counter has been raised again
        while (isLowered && isRaised && WordOf(*awaited).Head() == 0) weft::env::Pause();
        Dawdle(60);
        if (isLowered) scheduler.DecrementCounter(awaited);
        if (isLowered && isRaised) scheduler.IncrementCounter(awaited);
        scheduler.WaitForCounter(done);
        Check(ended == 1, "a task was lost");
        MarkDead(awaited, sizeof *awaited);
    }
    scheduler.Stop();
}

// Tasks wait for a counter of another scheduler, some with a deadline. A task beside them, on the
// same worker, or a thread lowers it. The tasks come back to their threads. Their scheduler may end
// right after that.
void OtherScheduler() {
    Counters counters;
    StartedScheduler other(Options(1, 9));
    Counter *const counter = counters.New(2);
    const uint32_t waiters = 2 + Random(2);
    uint32_t over = 0;
    auto lowers = [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 2; ++i) {
            if (self != nullptr && Random(2) != 0) self->Yield();
            Dawdle(100);
            if (self == nullptr && Random(4) == 0) Compute(5000);  // all tasks wait meanwhile
            other.DecrementCounter(counter);
        }
    };
    const bool isThread = Random(2) != 0;
    HostThread thread([&] { lowers(nullptr); });
    {
        SchedulerOptions options = Options(1 + Random(2), 9);
        options.stallMilliseconds = 1;
        StartedScheduler ours(options);
        Counter *const all = counters.New();
        auto waits = [&](TaskScheduler *self) {
            const uint32_t worker = self->CurrentWorker(), value = Random(2);
            if (Random(2) != 0) {
                const Clock::time_point end = Now() + microseconds(Random(200));
                const bool isReached = WaitForCounterUntil(other, counter, end, value);
                Check(isReached ? counter->Value() <= value : Now() >= end,
                      "a wait in another scheduler ended too early");
                Check(self->CurrentWorker() == worker, "a task has not come back to its thread");
            }
            other.WaitForCounter(counter, value);
            Check(counter->Value() <= value, "a wait in another scheduler ended too early");
            Check(self->CurrentWorker() == worker, "a task has not come back to its thread");
            ++over;
        };
        for (uint32_t i = 0; i < waiters; ++i) ours.AddTask(MakeTask(waits), all);
        if (isThread)
            thread.Start();
        else
            ours.AddTask(MakeTask(lowers), all);
        ours.WaitForCounter(all);
        ours.Stop();
    }
    if (isThread) thread.Join();
    Check(over == waiters, "a wait was lost");
    Counters::Kill(counter);
    other.Stop();
}

}  // namespace

std::vector<Model> EdgeModels() {
    return {
        {"old_and_others", "an old chunk, and a task in the deque of a worker that is busy",
         OldAndOthers, 2},
        {"detach_behind", "without workers, a thread detaches and leaves the rest of a chunk",
         DetachBehind},
        {"keeper_works", "the keeper of a deadline gets a long task, and a choosy worker sleeps",
         KeeperGetsWork},
        {"claim_goes_on", "tasks of a chunk go on in a deferred way, others add to its counter",
         ClaimGoesOn, 2},
        {"own_withdrawn", "a wait with OwnTasks looks at tasks that are being withdrawn",
         OwnLooksAtWithdrawn},
        {"own_afar", "a wait with OwnTasks needs tasks through other waits", OwnNeedsAfar, 4},
        {"timed_goes_on", "a task goes on after a counter or at a deadline, again and again",
         TimedGoesOn, 2},
        {"other_scheduler", "tasks wait for a counter of another scheduler", OtherScheduler, 2},
    };
}

}  // namespace simulator
