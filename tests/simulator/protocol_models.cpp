// Models of protocols between the parts of the scheduler.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/data/task_group.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <chrono>
#include <utility>
#include <vector>

namespace simulator {

namespace {

using std::chrono::hours;
using std::chrono::microseconds;

// Options with so few fibers: at least three more than workers.
SchedulerOptions FewFibers(uint32_t workers, uint32_t fibers) {
    // Each worker and attached thread has one more.
    SchedulerOptions options = Options(workers, fibers - workers - 1);
    options.maxAttached = 1;
    options.onReport = OnlyThese<ReportCode::OutOfFibers, ReportCode::Stalled>;
    return options;
}

// A batch whose tasks are shared among the workers while they run. Each counts as finished after it
// has ended, and not before: also a task that leaves the worker in the middle of a chunk, that runs
// tasks of another batch inline, or that adds tasks to its own counter.
void ClaimSettles() {
    constexpr uint32_t kTasks = 36;
    // A worker keeps a chunk only while its tasks are short, and it has run enough of them to know.
    const bool areShort = Random(4) != 0;
    if (areShort) CountNanoseconds();
    Counters counters;
    Counter *const counter = counters.New(), *const gate = counters.New(1);
    uint32_t kinds[kTasks], left = kTasks, opened = 0;
    for (uint32_t &kind : kinds) kind = Random(12);
    bool isObserved = false, hasRun[kTasks] = {};
    Observe([&] {
        Check(!isObserved || left == 0 || WordOf(*counter).Count() >= left,
              "a task was counted as finished before it was");
    });
    auto leaf = [](TaskScheduler *) {};
    IndexedTasks tasks(kTasks, [&](TaskScheduler *scheduler, uint32_t index) {
        Check(!std::exchange(hasRun[index], true), "a task ran twice");
        switch (kinds[index]) {
            case 0:
                scheduler->Yield();
                break;
            case 1:
                AddBatchAndWait(scheduler, 3, leaf);
                break;
            case 2:
                RunBatch(scheduler, 20, leaf);
                break;
            case 3:
                if (++opened == 1) scheduler->DecrementCounter(gate);
                break;
            case 4:
                if (opened != 0) scheduler->WaitForCounter(gate);
                break;
            case 5:
                scheduler->PrepareToBlock();
                Dawdle(100);
                break;
            default:
                break;
        }
        --left;
    });
    SchedulerOptions options = Options(1 + Random(3), 41);
    if (areShort) options.idle = Random(32) != 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced;
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 3; ++i) RunBatch(scheduler, 50, leaf);
        scheduler->AddTasks(kTasks, tasks.data(), counter);
        isObserved = true;
        if (Random(2) != 0)
            WaitForCounterFor(*scheduler, counter, hours(1));
        else
            scheduler->WaitForCounter(counter);
        Check(left == 0, "a wait ended before all tasks of its counter");
        isObserved = false;
        Counters::Kill(counter);
    });
}

// One worker submits and then does not come back to its deque. The sleepers may run different
// levels: each is woken for the levels that it sleeps for. Otherwise the model does not end.
void SleepLevels() {
    Counters counters;
    Counter *const gate = counters.New(1), *const waiters = counters.New(),
                   *const tasks = counters.New(), *const early = counters.New(1);
    const uint32_t high = Random(3), normal = 1 + Random(2);  // how many of each
    const uint32_t restricted = 1 + Random(2);
    uint32_t begun = 0, ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto highOnly = [&](TaskScheduler *scheduler) {
        ++begun;
        scheduler->WaitForCounter(gate, Meanwhile::HighOnly);
    };
    auto noLow = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(early, Meanwhile::HighOnly);  // it sleeps for other levels first
        ++begun;
        scheduler->WaitForCounter(gate, Meanwhile::NormalOrHigher);
    };
    RunMain(Options(1 + restricted + Random(2), 17), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(noLow), waiters);
        if (restricted == 2) scheduler->AddTask(MakeTask(highOnly), waiters);
        Dawdle(200);
        scheduler->DecrementCounter(early);
        while (begun != restricted) weft::env::Pause();
        Dawdle(300);  // the workers fall asleep
        for (uint32_t i = 0; i < high + normal; ++i)
            scheduler->AddTask(MakeTask(leaf), tasks,
                               Of(i < high ? Priority::High : Priority::Normal));
        while (ran != high + normal) weft::env::Pause();
        scheduler->DecrementCounter(gate);
        scheduler->WaitForCounter(waiters);
        scheduler->WaitForCounter(tasks);
    });
}

// A worker expects to continue the fiber that it makes ready, and wakes nobody. But it picks
// another task, which takes long. Then it must wake the other worker for the fiber.
void QuietHandOver() {
    Counters counters;
    Event event;
    uint32_t turns = 0;
    const uint32_t before = 5 + Random(4);
    auto longer = [&](TaskScheduler *) { Compute(1000); };
    auto leaf = [&](TaskScheduler *scheduler) {
        if (++turns < before) return;
        // it comes next
        scheduler->AddTask(MakeTask(longer), nullptr,
                           PinnedTo(scheduler->CurrentWorker(), Priority::High));
        event.Ask();
    };
    auto player = [&](TaskScheduler *scheduler) {
        while (turns < before) {
            Counter *const counter = counters.New();
            scheduler->AddTask(MakeTask(leaf), counter);
            // with a deadline, so that the leaf does not run inline
            WaitForCounterFor(*scheduler, counter, hours(1));
            if (turns < before) Counters::Kill(counter);
        }
        event.Begin();
    };
    SchedulerOptions options = FairOptions(2);
    if (Random(2) != 0) options.idle = IdlePolicy::Balanced;
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter *const counter = counters.New();
        scheduler->AddTask(MakeTask(player), counter);
        WaitForCounterFor(*scheduler, counter, hours(1));
        Counters::Kill(counter);
    });
    CheckSoon(event.late <= 50 * kUs + kThiefRests, "a fiber waited although a worker was idle");
}

// A batch waits for two counters, which are lowered at the same time. Two threads withdraw it. It
// is withdrawn once, or it runs. The counters may be gone when they are zero. The object is used
// again for the next round, and a handle of the last round does nothing then.
void WithdrawRaces() {
    Counters counters;
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    DeferredHandle stale;
    for (uint32_t round = 0; round < 2; ++round) {
        Counter *const first = counters.New(1), *const second = counters.New(1),
                       *const done = counters.New();
        uint32_t ran = 0, withdrawn = 0;
        auto leaf = [&](TaskScheduler *) { ++ran; };
        const Task tasks[2] = {MakeTask(leaf), MakeTask(leaf)};
        DeferredHandle handle;
        const CounterTarget targets[2] = {{first}, {second}};
        Check(AddTasksAfter(scheduler, 2, targets, 2, tasks, done, {}, &handle),
              "AddTasksAfter failed");
        if (round != 0) Check(!Withdraw(scheduler, stale), "a stale handle withdrew a batch");
        auto withdraw = [&](TaskScheduler *self) {
            withdrawn += Withdraw(*self, handle) ? 1u : 0u;
        };
        Counter *const both = counters.New();
        RunningThread lowers([&] { scheduler.DecrementCounter(first); });
        scheduler.AddTask(MakeTask(withdraw), both);
        if (Random(2) != 0) withdraw(&scheduler);
        scheduler.DecrementCounter(second);
        WaitAndKill(&scheduler, done);
        lowers.Join();
        scheduler.WaitForCounter(both);
        Check(withdrawn <= 1 && ran == (withdrawn != 0 ? 0u : 2u),
              "a batch was withdrawn twice, or it was lost, or it ran although it was withdrawn");
        Check(!Withdraw(scheduler, handle), "a batch was withdrawn after its end");
        for (Counter *each : {first, second}) Counters::Kill(each);
        stale = handle;
    }
    scheduler.Stop();
}

// A timed batch, a thread that withdraws it, and the deadline.
void WithdrawTimed() {
    Counters counters;
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    Counter *const done = counters.New();
    uint32_t ran = 0, withdrawn = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    DeferredHandle handle;
    Check(AddTaskAt(scheduler, Now() + microseconds(Random(60)), MakeTask(leaf), done, {}, &handle),
          "AddTaskAt failed");
    RunningThread other([&] { withdrawn += Withdraw(scheduler, handle) ? 1u : 0u; });
    Dawdle(60);
    withdrawn += Withdraw(scheduler, handle) ? 1u : 0u;
    other.Join();
    WaitAndKill(&scheduler, done);
    Check(withdrawn + ran == 1, "a timed task was lost, or ran although it was withdrawn");
    scheduler.Stop();
}

// A thread cancels a group while a timed task is added to it. It may withdraw the task before the
// timer is set. The object must be free afterwards: the next task gets the same one.
void WithdrawBeforeTimer() {
    StartedScheduler scheduler(Options(1, 5));
    auto leaf = [](TaskScheduler *) { Fail("a withdrawn task ran"); };
    DeferredHandle before;
    for (uint32_t round = 0; round < 3; ++round) {
        TaskGroup group(scheduler);
        TaskOptions of;
        of.taskGroup = &group;
        DeferredHandle handle;
        RunningThread cancels([&] { group.Cancel(); });
        Dawdle(10);
        Check(AddTaskAt(scheduler, Now() + hours(1), MakeTask(leaf), nullptr, of, &handle),
              "AddTaskAt failed");
        cancels.Join();
        Check(group.Wait() == GroupResult::Cancelled, "a group was not cancelled");
        Check(round == 0 || handle.index == before.index, "the object of a timed task was lost");
        before = handle;
    }
    scheduler.Stop();
}

// A task of a group goes on as another one, once a counter is reached or at a deadline, as a
// coroutine does. The group is cancelled before or after that. The task must not run twice.
void WithdrawGoesOn() {
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    TaskGroup group(scheduler);
    TaskOptions of;
    of.taskGroup = &group;
    Counter awaited(1);
    weft::internal::TimedWait wait;
    wait.awaited = &awaited;
    uint32_t ran = 0;
    auto goesOn = [&](TaskScheduler *self) {
        Dawdle(100);
        weft::internal::EndTimedWait(*self, wait);
        ++ran;
    };
    const Task rest = MakeTask(goesOn);
    auto begins = [&](TaskScheduler *self) {
        if (!weft::internal::ContinueAfterOrAt(*self, wait, Now() + microseconds(Random(60)), rest,
                                               nullptr, of))
            rest.function(self, rest.arg);
    };
    HostThread lowers([&] { scheduler.DecrementCounter(&awaited); });
    scheduler.AddTask(MakeTask(begins), nullptr, of);
    lowers.Start();
    Dawdle(200);
    group.Cancel();
    lowers.Join();
    group.Wait();
    scheduler.Stop();
    Check(ran <= 1, "a task ran twice");
}

// Three wait for any of two counters each, the same or some that overlap, and some of them with a
// deadline. Each wait must end once, for a reason that holds. When a wait is over, its records are
// off the counters: they may be destroyed.
void AnyOverlaps() {
    Counters counters;
    Counter *const all[3] = {counters.New(1), counters.New(1), counters.New(1)};
    Cell written[3];
    const uint32_t kept = Random(4);  // this one is not lowered before the waits are over
    const uint32_t shift = Random(2);
    uint32_t over = 0;
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    const auto wait = [&](TaskScheduler *self, uint32_t index) {
        const uint32_t first = shift * index, both[2] = {first, (first + 1) % 3};
        Counter *const mine[2] = {all[both[0]], all[both[1]]};
        const bool isTimed = Random(2) == 0;
        const Clock::time_point deadline = Now() + microseconds(Random(100));
        const uint32_t which =
            isTimed ? WaitForAnyUntil(*self, 2, mine, deadline) : self->WaitForAny(2, mine);
        Check(which < 2 ? WordOf(*mine[which]).Count() == 0
                        : isTimed && which == 2 && Now() >= deadline,
              "a wait ended for a wrong counter, or too early");
        Check(which == 2 || written[both[which]].Get() == 1,
              "a write before the decrement is not visible");
        ++over;
    };
    auto lower = [&](TaskScheduler *self) {
        for (uint32_t i = 0; i < 3; ++i) {
            if (i == kept) continue;
            self != nullptr ? SleepFor(*self, microseconds(Random(100))) : Dawdle(40);
            written[i].Set(1);
            scheduler.DecrementCounter(all[i]);
        }
    };
    IndexedTasks tasks(2, wait);
    RunningThread outside([&] { wait(&scheduler, 2); });
    const bool byTask = Random(2) != 0;
    HostThread lowers([&] { lower(nullptr); });
    Counter *const waits = counters.New();
    byTask ? scheduler.AddTask(MakeTask(lower), waits) : lowers.Start();
    for (uint32_t i = 0; i < 2; ++i) scheduler.AddTask(tasks[i], waits);
    scheduler.WaitForCounter(waits);
    outside.Join();
    if (!byTask) lowers.Join();
    Check(over == 3, "a wait was lost");
    for (uint32_t i = 0; i < 3; ++i) {
        Check(WordOf(*all[i]).Head() == 0, "a record stays on a counter after the wait");
        if (i == kept) scheduler.DecrementCounter(all[i]);
        Counters::Kill(all[i]);
    }
    scheduler.Stop();
}

// Chains of tasks that wait for the next one, with half as many fibers as tasks. The task at the
// end of a chain can begin only on a fiber that waits for it, directly or through others.
void RescueChains() {
    constexpr uint32_t kFibers = 5;
    const uint32_t workers = 1 + Random(2), chains = 1 + Random(2);
    const uint32_t length = (2 * kFibers - 2) / chains;
    struct Link {
        Counters *counters;
        uint32_t left;
        uint32_t *ended;
        bool isPinned = false;
        static void Run(TaskScheduler *scheduler, void *arg) {
            Link &self = *static_cast<Link *>(arg);
            if (self.left != 0) {
                Link next = self;
                --next.left;
                Counter *const counter = self.counters->New();
                next.isPinned = Random(2) != 0;  // then it does not run inline at once
                scheduler->AddTask({Run, &next}, counter, PinnedTo(next.isPinned ? 0 : kAnyWorker));
                if (Random(3) == 0) scheduler->Yield();
                WaitAndKill(scheduler, counter);
            }
            Check(!self.isPinned || scheduler->CurrentWorker() == 0, "a pinned task has moved");
            ++*self.ended;
        }
    };
    Counters counters;
    uint32_t ended = 0;
    Link first{&counters, length - 1, &ended};
    RunCounted(FewFibers(workers, kFibers), [&](TaskScheduler *scheduler, Counter *counter) {
        for (uint32_t i = 0; i < chains; ++i) scheduler->AddTask({Link::Run, &first}, counter);
    });
    Check(ended == chains * length, "a task was lost");
}

// No fiber is free for a task. Its waiter is being taken off the counter, by a rescuer or because a
// wait ends, when the counter is lowered. The wait must end, and the task must run once.
void RescueRaces() {
    Counters counters;
    uint32_t ran = 0, ended = 0;
    Counter *const gate = counters.New(1);
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto holds = [&](TaskScheduler *scheduler) {  // has a fiber until the gate opens
        WaitForCounterFor(*scheduler, gate, hours(1));
    };
    StartedScheduler scheduler(FewFibers(2, 5));
    Counter *const shared = counters.New(1), *const all = counters.New();
    auto waits = [&](TaskScheduler *self) {
        self->AddTask(MakeTask(leaf), shared);
        if (Random(3) == 0) WaitForCounterFor(*self, shared, microseconds(Random(300)));
        self->WaitForCounter(shared, Random(3) == 0 ? Random(2) : 0);
        ++ended;
    };
    AddEach(&scheduler, all, holds, holds, holds, waits, waits, waits);
    RunningThread lowers([&] {
        Dawdle(200);
        scheduler.DecrementCounter(shared);
        scheduler.DecrementCounter(gate);
    });
    scheduler.WaitForCounter(all);
    lowers.Join();
    scheduler.Stop();
    Check(ran == 3 && ended == 3, "a task was lost");
    Counters::Kill(shared);
}

// Two tasks block their threads with a deadline, while a thread lowers the counter. What they have
// in their deques and what is pinned to them runs elsewhere, or after the wait.
void BlockRaces() {
    Counters counters;
    Counter *const counter = counters.New(2), *const all = counters.New(),
                   *const inner = counters.New();
    uint32_t ran = 0, blocked = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto blocks = [&](TaskScheduler *scheduler) {
        const uint32_t worker = scheduler->CurrentWorker();
        scheduler->AddTask(MakeTask(leaf), inner, PinnedTo(worker));
        scheduler->AddTask(MakeTask(leaf), inner);
        const uint32_t target = Random(2);
        const bool reached = WaitForCounterFor(*scheduler, counter, microseconds(Random(300)),
                                               Meanwhile::Nothing, target);
        Check(scheduler->CurrentWorker() == worker, "the thread changed");
        if (reached) Check(WordOf(*counter).Count() <= target, "a wait ended too early");
        if (!reached) scheduler->WaitForCounter(counter, Meanwhile::Nothing, target);
        ++blocked;
    };
    StartedScheduler scheduler(Options(2 + Random(2), 13));
    RunningThread lowers([&] {
        for (uint32_t i = 0; i < 2; ++i) {
            Dawdle(100);
            scheduler.DecrementCounter(counter);
        }
    });
    AddEach(&scheduler, all, blocks, blocks);
    scheduler.WaitForCounter(all);
    WaitAndKill(&scheduler, inner);
    lowers.Join();
    Counters::Kill(counter);
    scheduler.Stop();
    Check(ran == 4 && blocked == 2, "a task was lost");
}

// A deadline passes while the only worker computes. The worker handles the deadline, then runs a
// High task, which lowers the counter, and then continues the waiter. The wait must return true.
void CounterBeforeResume() {
    Counters counters;
    Counter *const counter = counters.New(1);
    bool inTime = false;
    auto waits = [&](TaskScheduler *self) {
        inTime = WaitForCounterFor(*self, counter, std::chrono::microseconds(100));
    };
    auto lowers = [&](TaskScheduler *self) { self->DecrementCounter(counter); };
    RunCounted(Options(1, 5), [&](TaskScheduler *self, Counter *done) {
        self->AddTask(MakeTask(waits), done);
        self->Yield();
        Compute(200 + Random(200));
        self->AddTask(MakeTask(lowers), done, Of(Priority::High));
    });
    Check(inTime, "a wait failed although its counter was reached before it went on");
    Counters::Kill(counter);
}

// An external thread, or a task that blocks its thread, waits with a deadline. Another thread
// lowers the counter just before or after the deadline. A wait may return false only if the counter
// was not reached before the deadline.
void DeadlineIsLast() {
    constexpr uint64_t kNever = ~uint64_t{0};
    Counters counters;
    Counter *const counter = counters.New(1);
    uint64_t reachedAt = kNever;
    bool inTime = false;
    const uint64_t early = Random(20) * kUs;
    const bool blocks = Random(2) != 0;
    StartedScheduler scheduler(Options(1 + Random(2), 5));
    Observe([&] {
        if (reachedAt == kNever && WordOf(*counter).Count() == 0) reachedAt = weft::env::Now();
    });
    const uint64_t end = weft::env::Now() + Random(130) * kUs;
    const Clock::time_point deadline(
        std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(end)));
    auto waits = [&](TaskScheduler *self) {
        const Meanwhile meanwhile = blocks ? Meanwhile::Nothing : Meanwhile::AnyTask;
        inTime = WaitForCounterUntil(*self, counter, deadline, meanwhile);
        Check(inTime ? WordOf(*counter).Count() == 0 : Now() >= deadline,
              "a wait ended without a reason");
    };
    RunningThread lowers([&] {
        while (weft::env::Now() + early < end) weft::env::Pause();
        scheduler.DecrementCounter(counter);
    });
    blocks ? AddAndWait(&scheduler, waits) : waits(&scheduler);
    lowers.Join();
    scheduler.Stop();
    Check(inTime || reachedAt >= end, "a wait failed although its counter was reached in time");
    Counters::Kill(counter);
}

// A thread attaches and detaches again and again, while another one pins tasks to it, and so does a
// task that it has submitted itself. A task that was accepted runs before the thread detaches.
void AttachBinds() {
    SchedulerOptions options = Options(1 + Random(2), 9);
    options.maxAttached = 1 + Random(2);
    static uint32_t s_refused;
    s_refused = 0;
    options.onReport = [](const Report &report, void *) {
        Check(report.code == ReportCode::BadOption, report.what);  // no thread is attached there
        ++s_refused;
    };
    StartedScheduler scheduler(options);
    Counters counters;
    Counter *const pinned = counters.New();
    uint32_t ran = 0, submitted = 3;
    const bool waits = Random(2) != 0;
    auto stays = [&](TaskScheduler *running) {
        const uint32_t worker = running->CurrentWorker();
        if (waits) running->Yield();
        Check(running->CurrentWorker() == worker, "a pinned task has moved");
        ++ran;
    };
    RunningThread guest([&] {
        for (uint32_t round = 0; round < 2; ++round) {
            Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
            Counter own;
            auto pins = [&](TaskScheduler *running) {
                ++submitted;
                running->AddTask(MakeTask(stays), pinned, PinnedTo(running->CurrentWorker()));
            };
            scheduler.AddTask(MakeTask(pins), &own);
            if (Random(2) != 0) scheduler.WaitForCounter(&own);
            scheduler.DetachThread();
            scheduler.WaitForCounter(&own);
        }
    });
    for (uint32_t i = 0; i < 3; ++i) {
        AddBatch(&scheduler, 1, stays, pinned, PinnedTo(scheduler.WorkerCount()));
        Dawdle(40);
    }
    guest.Join();
    scheduler.WaitForCounter(pinned);
    scheduler.Stop();
    Check(ran + s_refused == submitted, "a task was lost, or ran twice");
}

// Each task of a batch waits for the one before it. A fair pick begins a task too early, which then
// keeps its fiber for long. So it must begin one task, and not a whole chunk of them. Shows a chunk
// whose rest goes before all other work.
void FairPickIsOne() {
    constexpr uint32_t kTasks = 800;
    Counters counters;
    SchedulerOptions options = FairOptions(1);
    options.fibers = 17 + Random(16);
    const uint32_t length = 5 + Random(20);
    std::vector<Counter *> ends;
    for (uint32_t i = 0; i < kTasks; ++i) ends.push_back(counters.New(1));
    uint32_t done = 0;
    IndexedTasks tickets(kTasks, [&](TaskScheduler *scheduler, uint32_t number) {
        if (number != 0) scheduler->WaitForCounter(ends[number - 1]);
        Check(done++ == number, "a ticket had its turn too early");
        Compute(length);
        scheduler->DecrementCounter(ends[number]);
    });
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTasks(kTasks, tickets.data(), counter);
    });
    Check(done == kTasks, "a task was lost");
    for (Counter *each : ends) Counters::Kill(each);
}

}  // namespace

std::vector<Model> ProtocolModels() {
    return {
        {"claim_settles", "a batch is shared while its tasks wait, yield and run others inline",
         ClaimSettles, 4},
        {"sleep_levels", "sleepers that may run different levels, and a busy publisher",
         SleepLevels},
        {"quiet_hand_over", "a worker picks something else than the fiber that it made ready",
         QuietHandOver, 2},
        {"withdraw_races", "two withdraw a batch while its counters are lowered", WithdrawRaces},
        {"withdraw_timed", "two withdraw a timed task at its deadline", WithdrawTimed},
        {"withdraw_unset", "a group is cancelled while a timed task is added to it",
         WithdrawBeforeTimer},
        {"withdraw_goes_on", "a group is cancelled while one of its tasks waits in a deferred way",
         WithdrawGoesOn},
        {"any_overlaps", "waits for any of some counters, which overlap", AnyOverlaps, 2},
        {"rescue_chains", "chains of waits with half as many fibers", RescueChains},
        {"rescue_races", "waiters are taken for a rescue while their counter is lowered",
         RescueRaces},
        {"block_races", "tasks block their threads with a deadline", BlockRaces},
        {"deadline_resume", "a counter is lowered between its waiter's deadline and its resumption",
         CounterBeforeResume, 10},
        {"deadline_last", "a counter is lowered at the deadline of a thread that is blocked",
         DeadlineIsLast},
        {"fair_pick_is_one", "a batch whose tasks wait for each other, with few fibers",
         FairPickIsOne, 4},
        {"attach_binds", "tasks are pinned to a thread that attaches and detaches", AttachBinds},
    };
}

}  // namespace simulator
