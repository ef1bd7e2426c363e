#include "weft/no_suspend.h"

#include "support/scheduler_run.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <atomic>
#include <mutex>
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
