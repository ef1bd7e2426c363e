// Tests runs whose end waits for something: what EndDelayed says, and what StopFor withdraws.
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"
#include "support/quiet_run.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/data/result.h"
#include "weft/deferred.h"
#include "weft/periodic_task.h"
#include "weft/poll.h"
#include "weft/sync/semaphore.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

namespace {

struct Grace : test::Runner {
    explicit Grace(uint32_t workers = 2) : Runner(WithGrace(workers)) {}

    bool IsReported() const { return log.CountOf(ReportCode::EndDelayed) != 0; }
    std::string Text() const { return log.First(ReportCode::EndDelayed).what; }

    // Adds a task that calls `end` when EndDelayed has been reported. It sleeps meanwhile.
    void OnReport(std::function<void()> end) {
        m_end = std::move(end);
        scheduler.AddTask(m_ender[0], nullptr, test::Named("ender"));
    }

    // For tasks.
    void AwaitReport(TaskScheduler &running) const {
        PollUntil(
            running, [&] { return IsReported(); }, 1ms, Now() + 20s);
    }

private:
    static SchedulerOptions WithGrace(uint32_t workers) {
        SchedulerOptions options = test::Options(workers);
        options.stopGraceMilliseconds = 1;
        return options;
    }
    std::function<void()> m_end;
    test::Batch m_ender{1, [this](TaskScheduler &running, uint32_t) {
                            AwaitReport(running);
                            m_end();
                        }};
};

// Begins a run, adds what `begin` adds, and stops. `end` lets the run end. Returns the text of the
// report.
std::string LateEnd(Grace &run, std::function<void(TaskScheduler &)> begin,
                    std::function<void(TaskScheduler &)> end) {
    REQUIRE(run.scheduler.Start() == Status::Ok);
    begin(run.scheduler);
    run.OnReport([&] { end(run.scheduler); });
    run.scheduler.Stop();
    CHECK(run.log.CountOf(ReportCode::EndDelayed) == 1);
    return run.Text();
}

}  // namespace

TEST_CASE("report EndDelayed: names a task that sleeps", "[ending][stop]") {
    // The task may be about to wake up when the report is made. Then it is one of the other tasks.
    bool isNamed = false;
    for (uint32_t turn = 0; turn < 100 && !isNamed; ++turn) {
        Grace run;
        const std::string text = LateEnd(
            run, [](TaskScheduler &) {}, [](TaskScheduler &) {});
        isNamed = test::Names(text, "it waits for task 'ender' (sleeps for ");
    }
    CHECK(isNamed);
}

TEST_CASE("report EndDelayed: names a task that waits for a counter, or in a blocking call",
          "[ending][stop]") {
    Grace run;
    Counter never(1);
    std::atomic<bool> isOver{false};
    std::unique_ptr<BlockingCalls> calls;
    test::Batch waits(
        1, [&](TaskScheduler &running, uint32_t) { WaitForCounterFor(running, &never, 1h); });
    test::Batch calling(1, [&](TaskScheduler &, uint32_t) {
        calls->Run([&] { test::SpinUntil([&] { return isOver.load(); }); });
    });
    const std::string text = LateEnd(
        run,
        [&](TaskScheduler &scheduler) {
            calls = std::make_unique<BlockingCalls>(scheduler);
            scheduler.AddTask(waits[0], nullptr, test::Named("waits"));
            scheduler.AddTask(calling[0], nullptr, test::Named("reads"));
        },
        [&](TaskScheduler &scheduler) {
            scheduler.DecrementCounter(&never);
            isOver.store(true);
        });
    test::CheckNames(text,
                     {"task 'waits' (waits for at most 35", "task 'reads' (in a blocking call)",
                      "external work that has not ended: 1"});
}

TEST_CASE("report EndDelayed: tells the first tasks and the number of the others",
          "[ending][stop]") {
    Grace run;
    test::Marks marks(50);
    DeferredHandle handles[50];
    const std::string text = LateEnd(
        run,
        [&](TaskScheduler &scheduler) {
            for (uint32_t i = 0; i < 50; ++i)
                AddTaskAt(scheduler, Now() + 1h, marks[i], nullptr, {}, &handles[i]);
        },
        [&](TaskScheduler &scheduler) {
            for (const DeferredHandle handle : handles) Withdraw(scheduler, handle);
        });
    // 42 tasks more, and perhaps the one that sleeps
    test::CheckNames(text, {"timed task without a name (in 35", " and 4", " more"});
}

TEST_CASE("report EndDelayed: comes in Run, too, and not if the run ends in time",
          "[ending][stop]") {
    for (const bool isLate : {true, false}) {
        Grace run;
        std::atomic<uint32_t> ended{0};
        CHECK(run.Run([&](TaskScheduler &) {
            if (isLate) run.OnReport([&] { ended.fetch_add(1); });
        }) == Status::Ok);
        CHECK(run.log.Count() == (isLate ? 1u : 0u));
        CHECK(ended.load() == (isLate ? 1u : 0u));
    }
}

TEST_CASE("StopFor: tasks that wait for a time or a counter do not run, and are named",
          "[ending][stop][grid]") {
    for (const uint32_t workers : {0u, 1u, 2u, 8u}) {
        INFO(workers << " workers");
        Grace run(workers);
        TaskScheduler &scheduler = run.scheduler;
        REQUIRE(scheduler.Start() == Status::Ok);
        test::Marks marks(9);
        Counter never(1), counter;
        DeferredHandle handle;
        const CounterTarget both[2] = {{&never, 0}, {&counter, 7}};
        AddTaskAt(scheduler, Now() + 1h, marks[0], &counter, test::Named("purge"));
        AddTaskAt(scheduler, Now() + 1h, marks[1], &counter, test::Named("held"), &handle);
        AddTaskAfter(scheduler, &never, 0, marks[2], &counter, test::Named("follow"));
        AddTasksAfter(scheduler, &never, 0, 4, marks.Tasks() + 3, &counter, test::Named("links"));
        AddTasksAfter(scheduler, 2, both, 2, marks.Tasks() + 7, &counter, test::Named("both"));
        PeriodicTask saves(scheduler, 1h, marks[0], test::Named("autosave"));
        saves.Start(Now() + 1h);
        CHECK_FALSE(StopFor(scheduler, 0s));
        CHECK(counter.IsZero());
        CHECK(marks.Wrong(0) == 0);
        CHECK(run.log.Count() == 1);
        const std::string text = run.Text();
        test::CheckNames(
            text,
            {"StopFor has withdrawn ", "timed task 'held' (in 35", "timed task 'purge' (in 35",
             "deferred task 'follow' (after a counter)", "4 times deferred task 'links'",
             "2 times deferred task 'both' (after a counter)", "periodic task 'autosave' (in 35"});
        CHECK_FALSE(test::Names(text, "it waits for"));
    }
}

TEST_CASE("StopFor: tasks that can run all run", "[ending][stop]") {
    Grace run;
    REQUIRE(run.scheduler.Start() == Status::Ok);
    test::Marks marks(3);
    Counter first;
    run.scheduler.AddTask(marks[0], &first);
    AddTaskAfter(run.scheduler, &first, 0, marks[1]);
    AddTaskAt(run.scheduler, Now() + 1ms, marks[2]);
    CHECK(StopFor(run.scheduler, 20s));
    CHECK(marks.Wrong() == 0);
    CHECK(run.log.Text() == "");
}

TEST_CASE("StopFor: awaits a task that has begun, and refuses tasks that are to wait",
          "[ending][stop]") {
    Grace run;
    REQUIRE(run.scheduler.Start() == Status::Ok);
    test::Marks marks(5);
    Counter never(1), counter;
    uint32_t wrong = 0;
    AddTaskAfter(run.scheduler, &never, 0, marks[0], &counter, test::Named("follow"));
    run.OnReport([&] {
        TaskScheduler &running = run.scheduler;
        wrong += AddTaskAt(running, Now() + 1h, marks[1]);
        wrong += AddTaskAfter(running, &never, 0, marks[2], &counter);
        wrong += AddTasksAfter(running, &never, 0, 2, marks.Tasks() + 3, &counter);
        running.WaitForCounter(&counter);
        // The record of the withdrawn task is still there. The task must not run now.
        running.DecrementCounter(&never);
    });
    CHECK_FALSE(StopFor(run.scheduler, 0s));
    CHECK(wrong == 0);
    CHECK(marks.Wrong(0) == 0);
    CHECK(test::Names(run.Text(), "withdrawn deferred task 'follow' (after a counter)"));
    CHECK(run.log.CountOf(ReportCode::RunEnding) == 1);
    CHECK(run.log.Count() == 2);
}

TEST_CASE("StopFor: a periodic task ends whose run has begun", "[ending][stop]") {
    Grace run;
    REQUIRE(run.scheduler.Start() == Status::Ok);
    test::Marks marks(1);
    AddTaskAt(run.scheduler, Now() + 1h, marks[0]);
    test::Batch save(1, [&](TaskScheduler &running, uint32_t) { run.AwaitReport(running); });
    PeriodicTask saves(run.scheduler, 1ns, save[0]);
    saves.Start();
    CHECK(test::SpinUntil([&] { return saves.RunCount() != 0; }));
    CHECK_FALSE(StopFor(run.scheduler, 0s));
    CHECK(saves.RunCount() == 1);
    CHECK(run.log.Count() == 1);
}

TEST_CASE("StopFor: a task in line for a permit is awaited, because it passes the permit on",
          "[ending][stop]") {
    Grace run;
    REQUIRE(run.scheduler.Start() == Status::Ok);
    test::Marks marks(2);
    Semaphore permits(run.scheduler, 0);
    QueuedTask place;
    AddTaskAt(run.scheduler, Now() + 1h, marks[1]);
    CHECK(permits.AddTask(place, marks[0]));
    run.OnReport([&] { permits.release(); });
    CHECK_FALSE(StopFor(run.scheduler, 0s));
    CHECK(marks.Wrong(1, 1) == 0);
    CHECK(run.log.Count() == 1);
}

TEST_CASE("StopFor: a task that sets a result is awaited", "[ending][stop]") {
    Grace run;
    TaskScheduler &scheduler = run.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    test::Marks marks(1);
    Result<int> in, other, out, sum;
    AddTaskAt(scheduler, Now() + 1h, marks[0]);
    CHECK(AddTaskWhen(
        scheduler, [](int &x) { return x + 1; }, out, in));
    CHECK(AddTaskWhen(
        scheduler, [](int &x, int &y) { return x + y; }, sum, in, other));
    int got[2] = {};
    run.OnReport([&] {
        in.Set(scheduler, 1);
        other.Set(scheduler, 20);
        got[0] = out.Get(scheduler);
        got[1] = sum.Get(scheduler);
    });
    CHECK_FALSE(StopFor(scheduler, 0s));
    CHECK(got[0] == 2);
    CHECK(got[1] == 21);
    CHECK(run.log.Count() == 1);
}

TEST_CASE("report NotRunning, WrongThread: StopFor is refused where Stop is", "[ending][stop]") {
    Grace run;
    CHECK_FALSE(StopFor(run.scheduler, 1s));
    CHECK(run.log.CountOf(ReportCode::NotRunning) == 1);
    bool wasStopped = true;
    CHECK(run.Run([&](TaskScheduler &running) { wasStopped = StopFor(running, 1s); }) ==
          Status::Ok);
    CHECK_FALSE(wasStopped);
    CHECK(run.log.CountOf(ReportCode::WrongThread) == 1);
}

TEST_CASE("report Stalled: also while the grace period lasts", "[ending][stop]") {
    SchedulerOptions options = test::Options(2);
    options.stopGraceMilliseconds = 60'000;
    options.stallMilliseconds = 1;
    test::Started runner(options);
    TaskScheduler &scheduler = runner.scheduler;
    Counter never(1);
    const internal::SchedulerState &state = internal::EntryGate::StateOf(scheduler);
    test::Batch waits(1, [&](TaskScheduler &running, uint32_t) {
        const internal::Scheduler &its = *state.scheduler.load();
        PollUntil(
            running, [&] { return its.endWanted.load(); }, 1ms);  // Stop was called
        running.WaitForCounter(&never);
    });
    scheduler.AddTask(waits[0]);
    bool isFound = false;
    std::thread lowers([&] {
        isFound = test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
        scheduler.DecrementCounter(&never);
    });
    scheduler.Stop();
    lowers.join();
    CHECK(isFound);
    CHECK(runner.log.Count() == 1);
}
