// The events that a trace hook sees: what they say, and that they fit together.
#include "weft/blocking/blocking_calls.h"
#include "weft/closure.h"
#include "weft/deferred.h"
#include "weft/sync/mutex.h"
#include "weft/sync/shared_mutex.h"
#include "weft/time.h"
#include "weft/trace/marks.h"
#include "weft/trace/recorder.h"

#include "support/off_cpu.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "support/trace_log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// The events of tasks, waits and fibers.
constexpr uint32_t kTaskKinds = (1u << test::kTracedKinds) - 1;

struct WithTrace {
    test::TraceLog trace;
};

// A scheduler whose events are logged.
struct TracedRunner : WithTrace, test::Runner {
    explicit TracedRunner(SchedulerOptions options, uint32_t kinds = ~0u)
        : test::Runner((trace.AttachTo(options, kinds), options)) {}
};

// Returns the findings: each task that begins must have been submitted before, exactly once, with
// the same function, and must end with the same number.
std::string Unmatched(const std::vector<test::LoggedEvent> &events) {
    std::string findings;
    std::map<uint64_t, const TraceEvent *> submits;  // by the first number
    std::set<uint64_t> begun, ended;
    for (const test::LoggedEvent &logged : events) {
        const TraceEvent &event = logged.event;
        const uint64_t id = event.taskId;
        const std::string number = std::to_string(id) + "\n";
        if (logged.kind == TraceKind::Submit) {
            if (id == 0) findings += "a submission without a number\n";
            submits.emplace(id, &event);
        } else if (logged.kind == TraceKind::TaskBegin && id != 0) {
            auto submit = submits.upper_bound(id);
            if (submit == submits.begin()) {
                findings += "not submitted: " + number;
                continue;
            }
            const TraceEvent &of = *std::prev(submit)->second;
            if (id - of.taskId >= of.count) findings += "not submitted: " + number;
            if (of.ticks > event.ticks) findings += "submitted later: " + number;
            if (of.counter != event.counter) findings += "another counter: " + number;
            if (of.count == 1 && (of.function != event.function || of.arg != event.arg))
                findings += "another task: " + number;
            if (!begun.insert(id).second) findings += "begun twice: " + number;
        } else if (logged.kind == TraceKind::TaskEnd && id != 0) {
            if (begun.count(id) == 0) findings += "ended, not begun: " + number;
            if (!ended.insert(id).second) findings += "ended twice: " + number;
        }
    }
    uint64_t tasks = 0;
    for (const auto &submit : submits) tasks += submit.second->count;
    if (begun.size() != tasks || ended.size() != tasks)
        findings += std::to_string(tasks) + " submitted, " + std::to_string(begun.size()) +
                    " begun, " + std::to_string(ended.size()) + " ended\n";
    return findings;
}

// Each Resume comes after the Ready of its fiber.
void CheckReady(const std::vector<test::LoggedEvent> &events, uint32_t atLeast) {
    std::map<uint32_t, TraceEvent> ready;  // by the fiber that can continue
    uint32_t resumed = 0, wrong = 0;
    for (const test::LoggedEvent &logged : events) {
        if (logged.kind == TraceKind::Ready) ready[logged.event.other] = logged.event;
        if (logged.kind != TraceKind::Resume) continue;
        ++resumed;
        const auto found = ready.find(logged.event.fiber);
        if (found == ready.end() || found->second.counter != logged.event.counter ||
            found->second.ticks > logged.event.ticks) {
            ++wrong;
            continue;
        }
        ready.erase(found);
    }
    CHECK(resumed >= atLeast);
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("trace: each task that begins has the number of its submission", "[trace]") {
    const uint32_t workers = GENERATE(1u, 2u, 4u);
    TracedRunner runner(test::Options(workers, 36), kTaskKinds);
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    test::Marks many(3000), few(16), single(200), fused(100), pinned(50), timed(5), after(1);
    test::Batch parents(20, [&](TaskScheduler &inside, uint32_t i) {
        test::Marks own(i + 1);
        inside.AddTasksAndWait(i + 1, own.Tasks());
        inside.Yield();
    });
    Counter counter;
    scheduler.AddTasks(3000, many.Tasks(), &counter);
    scheduler.AddTasks(16, few.Tasks(), &counter, test::kHigh);
    for (uint32_t i = 0; i < 200; ++i) scheduler.AddTask(single.Tasks()[i], &counter);
    scheduler.AddTasksAndWait(100, fused.Tasks());
    scheduler.AddTasks(50, pinned.Tasks(), &counter, {Priority::Normal, workers - 1});
    for (uint32_t i = 0; i < 5; ++i)
        AddTaskAt(scheduler, Now() + std::chrono::microseconds(100 * i), timed.Tasks()[i],
                  &counter);
    Counter gate(1);
    AddTaskAfter(scheduler, &gate, 0, after.Tasks()[0], &counter);
    scheduler.AddTasks(20, parents.Tasks(), &counter);
    AddTask(
        scheduler,
        [](TaskScheduler *inside) {
            test::Marks own(40);
            inside->AddTasksAndWait(40, own.Tasks());
        },
        &counter);
    scheduler.DecrementCounter(&gate);
    scheduler.WaitForCounter(&counter);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    test::Marks attached(100);
    scheduler.AddTasksAndWait(100, attached.Tasks());
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(Unmatched(runner.trace.Events()) == "");
    CHECK(test::Inconsistencies(runner.trace.Events()) == "");
}

TEST_CASE("trace: tasks put back into queues keep their numbers", "[trace]") {
    // Each task of the batch waits. So the worker gives the rest of its claim back each time. All
    // of them may wait at once: after a Yield the worker begins the oldest task.
    TracedRunner runner(test::Options(2, 504), kTaskKinds);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch batch(500, [](TaskScheduler &inside, uint32_t i) {
            if (i % 7 == 0) inside.Yield();
            Counter gate(1);
            test::Batch open(1, [&](TaskScheduler &on, uint32_t) { on.DecrementCounter(&gate); });
            inside.AddTask(open[0]);
            inside.WaitForCounter(&gate);
        });
        scheduler.AddTasksAndWait(500, batch.Tasks());
    }) == Status::Ok);
    CHECK(Unmatched(runner.trace.Events()) == "");
}

TEST_CASE("trace: deferred tasks are submitted when their condition holds", "[trace]") {
    TracedRunner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter gate(1), counter;
        test::Marks after(1), timed(1);
        AddTaskAfter(scheduler, &gate, 0, after.Tasks()[0], &counter, test::Named("after"));
        AddTaskAt(scheduler, Now() + std::chrono::milliseconds(1), timed.Tasks()[0], &counter,
                  test::Named("timed"));
        MarkFrame(scheduler, 1);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    const auto place = [&](TraceKind kind, const std::string &name) {
        size_t i = 0;
        for (const auto &logged : runner.trace.Events()) {
            const TraceEvent &event = logged.event;
            if (event.kind == kind &&
                (name.empty() || (event.task != nullptr && name == event.task)))
                return i;
            ++i;
        }
        return ~size_t{0};
    };
    const size_t frame = place(TraceKind::Frame, ""), decrement = place(TraceKind::Decrement, "");
    const size_t after = place(TraceKind::Submit, "after"), due = place(TraceKind::Deadline, "");
    const size_t timed = place(TraceKind::Submit, "timed");
    CHECK((frame < decrement && decrement < after));
    CHECK(after < place(TraceKind::TaskBegin, "after"));
    CHECK((frame < due && due < timed));
    CHECK(timed < place(TraceKind::TaskBegin, "timed"));
    CHECK(place(TraceKind::TaskBegin, "timed") != ~size_t{0});
    CHECK(Unmatched(runner.trace.Events()) == "");
}

TEST_CASE("trace: Ready names the waiter and comes before Resume", "[trace]") {
    TracedRunner runner(test::Options(2, 18));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (int i = 0; i < 100; ++i) {
            Counter gate(1);
            test::Batch open(1, [&](TaskScheduler &on, uint32_t) { on.DecrementCounter(&gate); });
            scheduler.AddTask(open[0]);
            scheduler.WaitForCounter(&gate);
        }
    }) == Status::Ok);
    CheckReady(runner.trace.Events(), 1);
}

// One worker and one free fiber. The task on it waits, and a task that it does not wait for is the
// newest one. So the worker has no fiber for a task, and hands one to the fiber that waits.
TEST_CASE("trace: a fiber that is handed a task was made ready", "[trace]") {
    SchedulerOptions options = test::Options(1, 2);
    TracedRunner runner(options);
    const uint32_t held = std::max(test::FibersOf(options), 2u) - 2;
    uint32_t onFiber = ~0u;
    test::Marks other(1);
    Counter gate(1), holders;
    test::Batch holds(std::max(held, 1u),
                      [&](TaskScheduler &inside, uint32_t) { inside.WaitForCounter(&gate); });
    test::Batch child(1, [&](TaskScheduler &, uint32_t) {
        for (const test::LoggedEvent &logged : runner.trace.Events(TraceKind::TaskBegin))
            onFiber = logged.event.fiber;
    });
    Counter others;
    test::Batch parent(1, [&](TaskScheduler &inside, uint32_t) {
        Counter children;
        inside.AddTasks(1, child.Tasks(), &children, test::Named("child"));
        inside.AddTasks(1, other.Tasks(), &others);
        inside.WaitForCounter(&children);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter parents;
        scheduler.AddTasks(held, holds.Tasks(), &holders);
        for (uint32_t i = 0; i < 2 * held; ++i) scheduler.Yield();
        scheduler.AddTasks(1, parent.Tasks(), &parents);
        scheduler.Yield();
        scheduler.WaitForCounter(&parents);
        scheduler.WaitForCounter(&others);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&holders);
    }) == Status::Ok);
    uint32_t resumed = 0;
    for (const test::LoggedEvent &logged : runner.trace.Events(TraceKind::Resume))
        resumed += logged.event.fiber == onFiber;
    CHECK(resumed >= 1);
    CheckReady(runner.trace.Events(), 2);
}

TEST_CASE("trace: waits that return at once, changes by hand, yields and marks", "[trace]") {
    TracedRunner runner(test::Options(1));
    Counter counter;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        NameCounter(scheduler, &counter, "loads");
        scheduler.IncrementCounter(&counter, 5);
        scheduler.DecrementCounter(&counter, 3);
        scheduler.WaitForCounter(&counter, 2);
        scheduler.Yield();
        MarkFrame(scheduler, 7);
        scheduler.DecrementCounter(&counter, 2);
    }) == Status::Ok);
    const auto only = [&](TraceKind kind) {
        const std::vector<test::LoggedEvent> events = runner.trace.Events(kind);
        CHECK(events.size() >= 1);
        return events.empty() ? test::LoggedEvent{} : events[0];
    };
    CHECK((only(TraceKind::CounterName).task == "loads" &&
           only(TraceKind::CounterName).event.counter == &counter));
    CHECK((only(TraceKind::Increment).event.count == 5 &&
           only(TraceKind::Increment).event.counter == &counter));
    CHECK(runner.trace.CountOf(TraceKind::Increment) == 1);
    CHECK(runner.trace.CountOf(TraceKind::Decrement) == 2);
    CHECK(only(TraceKind::Decrement).event.count == 3);
    CHECK((only(TraceKind::Satisfied).event.count == 2 &&
           only(TraceKind::Satisfied).event.counter == &counter));
    CHECK(runner.trace.CountOf(TraceKind::Yield) == 1);
    CHECK(only(TraceKind::Frame).event.count == 7);
}

TEST_CASE("trace: external threads have events of their own", "[trace]") {
    TracedRunner runner(test::Options(1, 18, IdlePolicy::Sleep));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    REQUIRE(test::SpinUntil([&] { return runner.trace.CountOf(TraceKind::Park) != 0; }));
    Counter counter;
    std::atomic<bool> mayEnd{false};
    test::Batch batch(1, [&](TaskScheduler &, uint32_t) {
        while (!mayEnd.load()) std::this_thread::yield();
    });
    scheduler.AddTask(batch[0], &counter);
    std::thread opener([&] {
        REQUIRE(test::SpinUntil([&] { return runner.trace.CountOf(TraceKind::Wait) != 0; }));
        mayEnd.store(true);
    });
    scheduler.WaitForCounter(&counter);
    opener.join();
    scheduler.WaitForCounter(&counter);
    MarkFrame(scheduler, 1);
    scheduler.Stop();
    uint32_t external = 0;
    std::set<uint32_t> threads;
    for (const test::LoggedEvent &logged : runner.trace.Events()) {
        if (logged.event.worker != kAnyWorker) continue;
        ++external;
        threads.insert(logged.event.fiber);
        if (logged.kind == TraceKind::Wait || logged.kind == TraceKind::Resume ||
            logged.kind == TraceKind::Satisfied)
            CHECK(logged.event.counter == &counter);
    }
    // Submit, Wake, Wait, Resume, Satisfied, Frame, and Wakes by Stop
    CHECK(external >= 6);
    CHECK(threads.size() == 1);
    const auto woken = runner.trace.Events(TraceKind::Wake);
    REQUIRE(!woken.empty());
    CHECK((woken[0].event.worker == kAnyWorker && woken[0].event.other == 0));
    const auto ready = runner.trace.Events(TraceKind::Ready);
    REQUIRE(ready.size() == 1);
    CHECK((ready[0].event.worker == 0 && ready[0].event.other == kAnyWorker &&
           ready[0].event.counter == &counter));
    CHECK(runner.trace.CountOf(TraceKind::TakeInbox) == 1);
}

TEST_CASE("trace: a stolen task names the worker that it was stolen from", "[trace]") {
    TracedRunner runner(test::Options(2), kTaskKinds);
    std::atomic<uint32_t> begun{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // Two tasks that end only when both have begun: one of them has been stolen.
        test::Batch batch(2, [&](TaskScheduler &, uint32_t) {
            begun.fetch_add(1);
            while (begun.load() < 2) std::this_thread::yield();
        });
        scheduler.AddTasksAndWait(2, batch.Tasks());
    }) == Status::Ok);
    uint32_t stolen = 0;
    for (const test::LoggedEvent &logged : runner.trace.Events(TraceKind::TaskBegin)) {
        if (logged.event.other == kAnyWorker) continue;
        ++stolen;
        CHECK(logged.event.other == 1 - logged.event.worker);
    }
    CHECK(stolen >= 1);
}

TEST_CASE("trace: a task whose thread was off its processor", "[trace][off_cpu]") {
    const bool isAttached = GENERATE(false, true);
    TracedRunner runner(test::Options(1));
    test::Batch block(1, [](TaskScheduler &, uint32_t) { test::BlockForOthers(); });
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    uint32_t worker = 0;
    const auto run = [&] {
        Counter counter;
        runner.scheduler.AddTasks(1, block.Tasks(), &counter, {Priority::Normal, worker, "blocks"});
        runner.scheduler.WaitForCounter(&counter);
    };
    if (isAttached) {
        // the second thread gets the slot of the first one
        for (int i = 0; i < 2; ++i) {
            std::thread([&] {
                CHECK(runner.scheduler.AttachThread() == Status::Ok);
                worker = runner.scheduler.CurrentWorker();
                run();
                runner.scheduler.DetachThread();
            }).join();
        }
    } else {
        run();
    }
    runner.scheduler.Stop();
    uint64_t lost = 0;
    bool isIn = false;
    for (const test::LoggedEvent &logged : runner.trace.Events()) {
        if (logged.task == "blocks" && logged.kind == TraceKind::TaskBegin) isIn = true;
        if (logged.task == "blocks" && logged.kind == TraceKind::TaskEnd) isIn = false;
        if (isIn && logged.kind == TraceKind::OffCpu && logged.event.worker == worker)
            lost += logged.event.count;
    }
    const uint64_t least = test::IsOffCpuTold() ? (isAttached ? 2 : 1) * 20000 : 0;
    CHECK(lost >= least);
    CHECK((least != 0 || lost == 0));
}

TEST_CASE("trace: the sleep of a worker is no time off its processor", "[trace][off_cpu]") {
    TracedRunner runner(test::Options(1, 160, IdlePolicy::Sleep));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    constexpr uint32_t kSleeps = 40;
    for (uint32_t i = 0; i < kSleeps; ++i) {
        CHECK(test::SpinUntil([&] { return runner.trace.CountOf(TraceKind::Park) > i; }));
        test::Marks task(1);
        Counter counter;
        runner.scheduler.AddTasks(1, task.Tasks(), &counter);
        runner.scheduler.WaitForCounter(&counter);
    }
    runner.scheduler.Stop();
    uint32_t slept = 0, told = 0;
    bool isAsleep = false;
    for (const test::LoggedEvent &logged : runner.trace.Events()) {
        if (logged.event.worker != 0) continue;
        told += isAsleep && logged.kind == TraceKind::OffCpu;
        slept += isAsleep && logged.kind == TraceKind::Unpark;
        isAsleep = logged.kind == TraceKind::Park;
    }
    CHECK(slept >= kSleeps);
    CHECK(told == 0);
}

TEST_CASE("trace: a task that is found after a search begins then", "[trace]") {
    TracedRunner runner(test::Options(2, 160, IdlePolicy::Spin));
    bool isDone = true;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < 100 && isDone; ++i) {
            test::Marks task(1);
            Counter counter;
            scheduler.AddTasks(1, task.Tasks(), &counter);
            // this worker does not run it
            isDone = test::SpinUntil([&] { return scheduler.PollCounter(&counter); });
        }
    }) == Status::Ok);
    CHECK(isDone);
    CHECK(Unmatched(runner.trace.Events()) == "");
}

TEST_CASE("trace: locks, with the tasks and threads that hold them", "[trace][sync]") {
    const bool isWatched = GENERATE(true, false);
    SchedulerOptions options = test::Options(1);
    options.lockHolders = isWatched;
    TracedRunner runner(options);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    Mutex mutex(runner.scheduler);
    SharedMutex shared(runner.scheduler);
    std::atomic<uint32_t> wrong{0};
    test::Batch tasks(1, [&](TaskScheduler &, uint32_t) {
        mutex.lock();
        shared.lock_shared();
        wrong.fetch_add(shared.try_lock());
        wrong.fetch_add(mutex.try_lock_for(std::chrono::microseconds(1)));
        shared.unlock_shared();
        mutex.unlock();
    });
    Counter counter;
    runner.scheduler.AddTasks(1, tasks.Tasks(), &counter, test::Named("task"));
    runner.scheduler.WaitForCounter(&counter);
    mutex.lock();  // on an external thread
    mutex.unlock();
    runner.scheduler.Stop();
    std::vector<std::string> events;
    for (const test::LoggedEvent &logged : runner.trace.Events()) {
        const TraceKind kind = logged.kind;
        if (kind != TraceKind::LockWait && kind != TraceKind::Lock && kind != TraceKind::Unlock)
            continue;
        const void *lock = logged.event.lock;
        events.push_back(std::string(kind == TraceKind::LockWait ? "wait"
                                     : kind == TraceKind::Lock   ? "lock"
                                                                 : "unlock") +
                         (lock == &mutex    ? " mutex"
                          : lock == &shared ? " shared"
                          : lock == nullptr ? ""
                                            : " ?") +
                         (logged.event.worker == kAnyWorker ? ", outside" : ", " + logged.task));
    }
    const std::vector<std::string> expected = {
        "wait mutex, task",    "lock mutex, task",    "wait shared, task",    "lock shared, task",
        "wait mutex, task",    "wait, task",          "unlock shared, task",  "unlock mutex, task",
        "wait mutex, outside", "lock mutex, outside", "unlock mutex, outside"};
    CHECK(events == (isWatched ? expected : std::vector<std::string>()));
    CHECK(wrong.load() == 0);
}

TEST_CASE("trace: blocking calls and attached threads", "[trace]") {
    TracedRunner runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    static std::atomic<uint32_t> calls{0};
    calls.store(0);
    {
        BlockingCalls blocking(scheduler);
        blocking.Run([](void *) { calls.fetch_add(1); }, nullptr);
    }
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(calls.load() == 1);
    CHECK(runner.trace.CountOf(TraceKind::Attach) == 1);
    CHECK(runner.trace.CountOf(TraceKind::Detach) == 1);
    REQUIRE(runner.trace.CountOf(TraceKind::CallBegin) == 1);
    REQUIRE(runner.trace.CountOf(TraceKind::CallEnd) == 1);
    CHECK(runner.trace.Events(TraceKind::CallBegin)[0].event.worker == kAnyWorker);
    CHECK(runner.trace.Events(TraceKind::CallBegin)[0].event.call != nullptr);
    CHECK(runner.trace.Events(TraceKind::Attach)[0].event.worker == 1);
}

TEST_CASE("report InHook: a hook submits in an event of an external thread", "[trace][hooks]") {
    static TaskScheduler *running;
    static std::atomic<uint32_t> ran{0};
    ran.store(0);
    SchedulerOptions options = test::Options(1);
    options.trace.kinds = TraceHooks::Bit(TraceKind::Frame);
    options.trace.event = [](const TraceEvent &, void *) {
        running->AddTask({[](TaskScheduler *, void *) { ran.fetch_add(1); }, nullptr});
    };
    test::Runner runner(options);
    running = &runner.scheduler;
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    MarkFrame(runner.scheduler, 1);
    runner.scheduler.Stop();
    CHECK(ran.load() == 0);
    CHECK(runner.log.CountOf(ReportCode::InHook) == 1);
}

TEST_CASE("trace: CurrentTask is the number that the events of the task have", "[trace]") {
    // 0: not traced, 1: a hook, 2: a recorder
    for (const int traced : {0, 1, 2}) {
        INFO("traced " << traced);
        SchedulerOptions options = test::Options(2);
        const auto memory = std::make_unique<unsigned char[]>(1 << 20);
        Recorder recorder(memory.get(), 1 << 20);
        // begun[i]: the number in the TaskBegin of task i; inside[i]: what the task itself has seen
        std::atomic<uint64_t> begun[60]{}, inside[60]{};
        std::atomic<uint32_t> wrong{0};
        struct Host {
            std::atomic<uint64_t> *begun;
            const Task *tasks = nullptr;
        } host{begun};
        options.trace.user = &host;
        options.trace.kinds = TraceHooks::Bit(TraceKind::TaskBegin);
        if (traced == 1) {
            options.trace.event = [](const TraceEvent &event, void *user) {
                const Host &its = *static_cast<Host *>(user);
                for (uint32_t i = 0; i < 60; ++i) {
                    if (its.tasks != nullptr && its.tasks[i].arg == event.arg)
                        its.begun[i].store(event.taskId);
                }
            };
        }
        if (traced == 2) options.recorder = &recorder;
        test::Runner runner(options);
        test::Batch leaf(2, [](TaskScheduler &, uint32_t) {});
        test::Batch batch(60, [&](TaskScheduler &scheduler, uint32_t i) {
            const uint64_t number = scheduler.CurrentTask();
            inside[i].store(number);
            scheduler.AddTasksAndWait(2, leaf.Tasks());  // other tasks run on this fiber
            scheduler.Yield();
            wrong.fetch_add(scheduler.CurrentTask() != number);
        });
        host.tasks = batch.Tasks();
        uint64_t inMain = 1;
        CHECK(runner.scheduler.CurrentTask() == 0);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            inMain = scheduler.CurrentTask();
            scheduler.AddTasksAndWait(60, batch.Tasks());
            inMain += scheduler.CurrentTask();
        }) == Status::Ok);
        CHECK(inMain == 0);
        CHECK(wrong.load() == 0);
        std::set<uint64_t> numbers;
        for (uint32_t i = 0; i < 60; ++i) {
            if (traced == 1) CHECK(inside[i].load() == begun[i].load());
            numbers.insert(inside[i].load());
        }
        CHECK(numbers.size() == (traced != 0 ? 60u : 1u));
        CHECK(numbers.count(0) == (traced != 0 ? 0u : 1u));
        CHECK(runner.log.Text() == "");
    }
}
