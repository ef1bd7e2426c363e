#include "weft/no_suspend.h"

#include "support/quiet_run.h"
#include "weft/algorithms/parallel_invoke.h"
#include "weft/algorithms/parallel_reduce.h"
#include "weft/algorithms/parallel_sort.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/data/cancellation.h"
#include "weft/data/result.h"
#include "weft/data/task_group.h"
#include "weft/deferred.h"
#include "weft/frame/budgeted_queue.h"
#include "weft/graph/graph.h"
#include "weft/poll.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("NoSuspend: a wait is reported once, and takes place", "[no_suspend][report]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch nothing(3, [](TaskScheduler &, uint32_t) {});
        Counter counter;
        {
            const NoSuspend scope("physics");
            scheduler.AddTasks(3, nothing.Tasks(), &counter);
            CHECK(scheduler.PollCounter(&counter, 3));
            CHECK(runner.log.Count() == 0);
            scheduler.WaitForCounter(&counter);
            CHECK(scheduler.PollCounter(&counter));
            scheduler.AddTasksAndWait(3, nothing.Tasks());
            CHECK(runner.log.Count() == 1);
        }
        scheduler.AddTasksAndWait(3, nothing.Tasks());
        CHECK(runner.log.Count() == 1);
        const NoSuspend scope;
        SleepFor(scheduler, 1us);
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::WaitInScope) == 2);
    CHECK(runner.log.Count() == 2);
    const test::LoggedReport report = runner.log.First(ReportCode::WaitInScope);
    CHECK(test::Names(report.what, "WaitForCounter was called in a scope of NoSuspend 'physics'"));
    CHECK(test::Names(report.hint, "use weft::Mutex"));
    CHECK(test::Names(runner.log.Text(), "SleepUntil was called in a scope of NoSuspend 'without"));
}

TEST_CASE("NoSuspend: nested scopes", "[no_suspend]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const NoSuspend outer("outer");
        { const NoSuspend inner("inner"); }
        scheduler.Yield();
        CHECK(test::Names(runner.log.First(ReportCode::WaitInScope).what, "'outer'"));
        {
            const NoSuspend inner("inner");
            scheduler.Yield();
        }
        CHECK(runner.log.CountOf(ReportCode::WaitInScope) == 2);
        scheduler.Yield();  // all scopes are forgotten
        CHECK(runner.log.Count() == 2);
    }) == Status::Ok);
    CHECK(test::Names(runner.log.Text(), "'inner'"));
}

TEST_CASE("NoSuspend: belongs to its task", "[no_suspend][sync]") {
    test::Runner runner(test::Options(1));
    std::thread external;
    std::atomic<bool> done{false};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        Counter counter;
        // While this task waits in spite of its scope, another one waits on the same worker.
        test::Batch waits(1, [](TaskScheduler &running, uint32_t) { running.Yield(); });
        scheduler.AddTask(waits[0], &counter);
        const NoSuspend scope("main");
        mutex.lock();  // free, so it does not wait
        CHECK(mutex.try_lock() == false);
        mutex.unlock();
        CHECK(runner.log.Count() == 0);
        scheduler.WaitForCounter(&counter);
        CHECK(runner.log.Count() == 1);
        // An external thread may wait.
        external = std::thread([&] {
            const NoSuspend outside("outside");
            scheduler.AddTasksAndWait(1, waits.Tasks());
            done.store(true);
        });
        CHECK(test::YieldUntil(scheduler, [&] { return done.load(); }));
    }) == Status::Ok);
    external.join();
    CHECK(runner.log.Count() == 1);
}

namespace {

// Makes each call in a scope of its own (NoSuspend), in a task. Collects the names of calls that
// are not reported as often as they should be.
struct Scoped {
    template <class Call>
    void operator()(const char *name, Call call, size_t times = 1) {
        const size_t before = runner.log.CountOf(ReportCode::WaitInScope);
        {
            const NoSuspend scope;
            call();
        }
        if (runner.log.CountOf(ReportCode::WaitInScope) - before != times)
            wrong += std::string(name) + "; ";
    }
    test::Runner runner{test::Options(2)};
    std::string wrong;
};

// Runs `body` as the main task. All of its calls must be right.
void CheckCalls(const std::function<void(Scoped &, TaskScheduler &)> &body) {
    Scoped calls;
    const auto main = [&](TaskScheduler &scheduler) { body(calls, scheduler); };
    CHECK(calls.runner.Run(main) == Status::Ok);
    CHECK(calls.wrong == "");
}

constexpr Clock::time_point kPast{};
const Task kNothing{[](TaskScheduler *, void *) {}, nullptr};

}  // namespace

TEST_CASE("NoSuspend: a wait that is over already is reported", "[no_suspend][report]") {
    CheckCalls([](Scoped &reported, TaskScheduler &scheduler) {
        Counter zero;
        Counter *const counters[] = {&zero};
        reported("WaitForCounter", [&] { scheduler.WaitForCounter(&zero); });
        reported("WaitForCounter, 5", [&] { scheduler.WaitForCounter(&zero, 5); });
        reported("SameWorker", [&] { scheduler.WaitForCounter(&zero, 0, ResumeOn::SameWorker); });
        for (const Meanwhile meanwhile :
             {Meanwhile::AnyTask, Meanwhile::NormalOrHigher, Meanwhile::HighOnly,
              Meanwhile::OwnTasks, Meanwhile::Nothing}) {
            reported("Meanwhile", [&] { scheduler.WaitForCounter(&zero, meanwhile); });
        }
        reported("WaitForAll", [&] { scheduler.WaitForAll(1, counters); });
        reported("WaitForAny", [&] { scheduler.WaitForAny(1, counters); });
        reported("WaitForCounterUntil", [&] { WaitForCounterUntil(scheduler, &zero, kPast); });
        reported("WaitForAnyUntil", [&] { WaitForAnyUntil(scheduler, 1, counters, kPast); });
        reported("SleepUntil", [&] { SleepUntil(scheduler, kPast); });
        reported("SleepFor", [&] { SleepFor(scheduler, 0ns); });
        reported("WaitIdle", [&] { scheduler.WaitIdle(); });
        reported("Yield", [&] { scheduler.Yield(); });
        reported("RunPinnedTasks", [&] { scheduler.RunPinnedTasks(); });
        reported("AddTasksAndWait", [&] { scheduler.AddTasksAndWait(1, &kNothing); });
        uint32_t asks = 0;
        reported("PollUntil, true at once", [&] {
            PollUntil(
                scheduler, [] { return true; }, 1ms);
        });
        reported("PollUntil", [&] {
            PollUntil(
                scheduler, [&] { return ++asks == 2; }, 1us);
        });
    });
}

TEST_CASE("NoSuspend: waits in other headers that are over already are reported",
          "[no_suspend][report]") {
    CheckCalls([](Scoped &reported, TaskScheduler &scheduler) {
        Counter zero;
        Result<int> ready;
        ready.Set(scheduler, 1);
        TaskGroup group(scheduler);
        CancelSource source(scheduler);
        std::vector<int> numbers{3, 1, 2}, none;
        reported("WaitForAny(Result)", [&] { WaitForAny(scheduler, ready); });
        reported("TaskGroup::Wait", [&] { group.Wait(); });
        reported("TaskGroup::WaitUntil", [&] { group.WaitUntil(kPast); });
        reported("WaitForCounterOrCancel",
                 [&] { WaitForCounterOrCancel(scheduler, &zero, source.Token()); });
        reported("ParallelFor", [&] { ParallelFor(scheduler, 0, 1, [](int) {}); });
        reported("ParallelSort", [&] { ParallelSort(scheduler, numbers.begin(), numbers.end()); });
        reported("ParallelSort of nothing",
                 [&] { ParallelSort(scheduler, none.begin(), none.end()); });
        reported("ParallelInvoke", [&] { ParallelInvoke(scheduler, [] {}); });
        {
            BlockingCalls blocking(scheduler);
            reported("BlockingCalls::Run", [&] { blocking.Run([] {}); });
        }
        Graph graph({});
        graph.AddNode("node", kNothing);
        graph.Check();
        reported("Graph::Run", [&] { graph.Run(scheduler); });
        Task slots[4];
        BudgetedQueue queue(scheduler, 4, slots);
        reported("BudgetedQueue::Wait", [&] { queue.Wait(); });
        Event event(scheduler);
        event.Set();
        reported(
            "Event::Wait", [&] { event.Wait(); }, 0);
        reported(
            "AddTaskAfter", [&] { AddTaskAfter(scheduler, &zero, 0, kNothing); }, 0);
    });
}

TEST_CASE("NoSuspend: a wait that has nothing to wait for is reported, too",
          "[no_suspend][report]") {
    CheckCalls([](Scoped &reported, TaskScheduler &scheduler) {
        Counter zero;
        Result<int> ready;
        ready.Set(scheduler, 1);
        CancelSource source(scheduler);
        reported("WaitForAll of none", [&] { scheduler.WaitForAll(0, nullptr); });
        reported("AddTasksAndWait of none", [&] { scheduler.AddTasksAndWait(0, nullptr); });
        reported("Result::Wait", [&] { ready.Wait(scheduler); });
        reported("Result::Get", [&] { ready.Get(scheduler); });
        reported("Result::WaitFor", [&] { ready.WaitFor(scheduler, 1ms); });
        reported("WaitForAll(Result)", [&] { WaitForAll(scheduler, ready); });
        reported("ParallelFor of nothing", [&] { ParallelFor(scheduler, 0, 0, [](int) {}); });
        reported("ParallelReduce of nothing", [&] {
            ParallelReduce(
                scheduler, 0, 0, 0, [](int i) { return i; }, std::plus<>());
        });
        reported("SleepUntilOrCancel",
                 [&] { SleepUntilOrCancel(scheduler, kPast, source.Token()); });
        source.Cancel();
        reported("SleepUntilOrCancel, cancelled",
                 [&] { SleepUntilOrCancel(scheduler, Now() + 1h, source.Token()); });
        reported("WaitForCounterOrCancel, cancelled",
                 [&] { WaitForCounterOrCancel(scheduler, &zero, source.Token()); });
    });
}

namespace {

// Counts waits, and how many of them ended on the worker on which they began.
struct Stays {
    std::atomic<uint32_t> waits{0}, stayed{0};
    void Compare(TaskScheduler &scheduler, uint32_t before) {
        waits.fetch_add(1);
        stayed.fetch_add(scheduler.CurrentWorker() == before);
    }
};

}  // namespace

TEST_CASE("migrateAfterWait: all work is done, and what is bound to a worker stays there",
          "[no_suspend]") {
    for (const uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers);
        SchedulerOptions options = test::Options(workers);
        options.migrateAfterWait = true;
        Stays bound, pinned;
        std::atomic<uint32_t> sum{0};
        test::RunQuietly(options, [&](TaskScheduler &scheduler) {
            Mutex mutex(scheduler);
            test::Batch leaf(2, [&](TaskScheduler &, uint32_t) { sum.fetch_add(1); });
            test::Batch free(20, [&](TaskScheduler &running, uint32_t) {
                running.AddTasksAndWait(2, leaf.Tasks());
                Counter counter;
                running.AddTasks(2, leaf.Tasks(), &counter);
                running.WaitForCounter(&counter);
                const std::lock_guard<Mutex> lock(mutex);
                SleepFor(running, 1us);
            });
            test::Batch same(5, [&](TaskScheduler &running, uint32_t) {
                Counter counter;
                running.AddTasks(2, leaf.Tasks(), &counter);
                const uint32_t before = running.CurrentWorker();
                running.WaitForCounter(&counter, 0, ResumeOn::SameWorker);
                bound.Compare(running, before);
                running.AddTasks(2, leaf.Tasks(), &counter);
                const uint32_t then = running.CurrentWorker();
                running.WaitForCounter(&counter, Meanwhile::OwnTasks);
                bound.Compare(running, then);
            });
            test::Batch there(5, [&](TaskScheduler &running, uint32_t) {
                const uint32_t before = running.CurrentWorker();
                running.AddTasksAndWait(2, leaf.Tasks());
                pinned.Compare(running, before);
            });
            Counter all;
            scheduler.AddTasks(20, free.Tasks(), &all);
            scheduler.AddTasks(5, same.Tasks(), &all);
            scheduler.AddTasks(5, there.Tasks(), &all, {Priority::Normal, 0});
            scheduler.WaitForCounter(&all);
        });
        CHECK(sum.load() == 20 * 4 + 5 * 4 + 5 * 2);
        CHECK(bound.waits.load() == 10);
        CHECK(bound.stayed.load() == 10);
        CHECK(pinned.waits.load() == 5);
        CHECK(pinned.stayed.load() == 5);
    }
}
