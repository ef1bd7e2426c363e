#include "weft/no_suspend.h"

#include "support/scheduler_run.h"
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
class ScopedCalls {
public:
    using Body = std::function<void(ScopedCalls &, TaskScheduler &)>;
    /// Runs `body` as the main task, and returns the names.
    static std::string WrongIn(const Body &body) {
        ScopedCalls calls;
        const Status status =
            calls.m_runner.Run([&](TaskScheduler &scheduler) { body(calls, scheduler); });
        return status == Status::Ok ? calls.m_wrong : "Run";
    }

    template <class Call>
    void Reported(const char *name, Call call, size_t times = 1) {
        const size_t before = m_runner.log.CountOf(ReportCode::WaitInScope);
        {
            const NoSuspend scope;
            call();
        }
        if (m_runner.log.CountOf(ReportCode::WaitInScope) - before != times)
            m_wrong += std::string(name) + "; ";
    }
    template <class Call>
    void NotReported(const char *name, Call call) {
        Reported(name, call, 0);
    }

private:
    test::Runner m_runner{test::Options(2)};
    std::string m_wrong;
};

constexpr Clock::time_point kPast{};
const Task kNothing{[](TaskScheduler *, void *) {}, nullptr};

}  // namespace

TEST_CASE("NoSuspend: a wait that is over already is reported", "[no_suspend][report]") {
    const std::string wrong = ScopedCalls::WrongIn([](ScopedCalls &calls,
                                                      TaskScheduler &scheduler) {
        Counter zero;
        Counter *const counters[] = {&zero};
        calls.Reported("WaitForCounter", [&] { scheduler.WaitForCounter(&zero); });
        calls.Reported("WaitForCounter, 5", [&] { scheduler.WaitForCounter(&zero, 5); });
        calls.Reported("SameWorker",
                       [&] { scheduler.WaitForCounter(&zero, 0, ResumeOn::SameWorker); });
        for (const Meanwhile meanwhile :
             {Meanwhile::AnyTask, Meanwhile::NormalOrHigher, Meanwhile::HighOnly,
              Meanwhile::OwnTasks, Meanwhile::Nothing}) {
            calls.Reported("Meanwhile", [&] { scheduler.WaitForCounter(&zero, meanwhile); });
        }
        calls.Reported("WaitForAll", [&] { scheduler.WaitForAll(1, counters); });
        calls.Reported("WaitForAny", [&] { scheduler.WaitForAny(1, counters); });
        calls.Reported("WaitForCounterUntil",
                       [&] { WaitForCounterUntil(scheduler, &zero, kPast); });
        calls.Reported("WaitForAnyUntil", [&] { WaitForAnyUntil(scheduler, 1, counters, kPast); });
        calls.Reported("SleepUntil", [&] { SleepUntil(scheduler, kPast); });
        calls.Reported("SleepFor", [&] { SleepFor(scheduler, 0ns); });
        calls.Reported("WaitIdle", [&] { scheduler.WaitIdle(); });
        calls.Reported("Yield", [&] { scheduler.Yield(); });
        calls.Reported("RunPinnedTasks", [&] { scheduler.RunPinnedTasks(); });
        calls.Reported("AddTasksAndWait", [&] { scheduler.AddTasksAndWait(1, &kNothing); });
        uint32_t asks = 0;
        calls.Reported("PollUntil, true at once", [&] {
            PollUntil(
                scheduler, [] { return true; }, 1ms);
        });
        calls.Reported("PollUntil", [&] {
            PollUntil(
                scheduler, [&] { return ++asks == 2; }, 1us);
        });
    });
    CHECK(wrong == "");
}

TEST_CASE("NoSuspend: waits in other headers that are over already are reported",
          "[no_suspend][report]") {
    const std::string wrong =
        ScopedCalls::WrongIn([](ScopedCalls &calls, TaskScheduler &scheduler) {
            Counter zero;
            Result<int> ready;
            ready.Set(scheduler, 1);
            TaskGroup group(scheduler);
            CancelSource source(scheduler);
            std::vector<int> numbers{3, 1, 2}, none;
            calls.Reported("WaitForAny(Result)", [&] { WaitForAny(scheduler, ready); });
            calls.Reported("TaskGroup::Wait", [&] { group.Wait(); });
            calls.Reported("TaskGroup::WaitUntil", [&] { group.WaitUntil(kPast); });
            calls.Reported("WaitForCounterOrCancel",
                           [&] { WaitForCounterOrCancel(scheduler, &zero, source.Token()); });
            calls.Reported("ParallelFor", [&] { ParallelFor(scheduler, 0, 1, [](int) {}); });
            calls.Reported("ParallelSort",
                           [&] { ParallelSort(scheduler, numbers.begin(), numbers.end()); });
            calls.Reported("ParallelSort of nothing",
                           [&] { ParallelSort(scheduler, none.begin(), none.end()); });
            calls.Reported("ParallelInvoke", [&] { ParallelInvoke(scheduler, [] {}); });
            {
                BlockingCalls blocking(scheduler);
                calls.Reported("BlockingCalls::Run", [&] { blocking.Run([] {}); });
            }
            Graph graph({});
            graph.AddNode("node", kNothing);
            graph.Check();
            calls.Reported("Graph::Run", [&] { graph.Run(scheduler); });
            Task slots[4];
            BudgetedQueue queue(scheduler, 4, slots);
            calls.Reported("BudgetedQueue::Wait", [&] { queue.Wait(); });
            Event event(scheduler);
            event.Set();
            calls.NotReported("Event::Wait", [&] { event.Wait(); });
            calls.NotReported("AddTaskAfter", [&] { AddTaskAfter(scheduler, &zero, 0, kNothing); });
        });
    CHECK(wrong == "");
}

TEST_CASE("NoSuspend: a wait that has nothing to wait for is reported, too",
          "[no_suspend][report]") {
    const std::string wrong = ScopedCalls::WrongIn([](ScopedCalls &calls,
                                                      TaskScheduler &scheduler) {
        Counter zero;
        Result<int> ready;
        ready.Set(scheduler, 1);
        CancelSource source(scheduler);
        calls.Reported("WaitForAll of none", [&] { scheduler.WaitForAll(0, nullptr); });
        calls.Reported("AddTasksAndWait of none", [&] { scheduler.AddTasksAndWait(0, nullptr); });
        calls.Reported("Result::Wait", [&] { ready.Wait(scheduler); });
        calls.Reported("Result::Get", [&] { ready.Get(scheduler); });
        calls.Reported("Result::WaitFor", [&] { ready.WaitFor(scheduler, 1ms); });
        calls.Reported("WaitForAll(Result)", [&] { WaitForAll(scheduler, ready); });
        calls.Reported("ParallelFor of nothing", [&] { ParallelFor(scheduler, 0, 0, [](int) {}); });
        calls.Reported("ParallelReduce of nothing", [&] {
            ParallelReduce(
                scheduler, 0, 0, 0, [](int i) { return i; }, std::plus<>());
        });
        calls.Reported("SleepUntilOrCancel",
                       [&] { SleepUntilOrCancel(scheduler, kPast, source.Token()); });
        source.Cancel();
        calls.Reported("SleepUntilOrCancel, cancelled",
                       [&] { SleepUntilOrCancel(scheduler, Now() + 1h, source.Token()); });
        calls.Reported("WaitForCounterOrCancel, cancelled",
                       [&] { WaitForCounterOrCancel(scheduler, &zero, source.Token()); });
    });
    CHECK(wrong == "");
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
        test::Runner runner(options);
        Stays bound, pinned;
        std::atomic<uint32_t> sum{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
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
            TaskOptions onFirst;
            onFirst.worker = 0;
            scheduler.AddTasks(20, free.Tasks(), &all);
            scheduler.AddTasks(5, same.Tasks(), &all);
            scheduler.AddTasks(5, there.Tasks(), &all, onFirst);
            scheduler.WaitForCounter(&all);
        }) == Status::Ok);
        CHECK(sum.load() == 20 * 4 + 5 * 4 + 5 * 2);
        CHECK(bound.waits.load() == 10);
        CHECK(bound.stayed.load() == 10);
        CHECK(pinned.waits.load() == 5);
        CHECK(pinned.stayed.load() == 5);
        CHECK(runner.log.Text() == "");
    }
}
