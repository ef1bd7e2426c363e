#include "weft/task_scheduler.h"

#include "support/low_groups.h"
#include "support/scheduler_run.h"
#include "support/spin.h"

#include <algorithm>
#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Counts how many tasks are inside now, and how many were inside at once at most.
struct Gauge {
    std::atomic<uint32_t> inside{0}, most{0}, ran{0};
    void Enter() {
        const uint32_t now = inside.fetch_add(1) + 1;
        uint32_t seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
    }
    void Leave() {
        inside.fetch_sub(1);
        ran.fetch_add(1);
    }
};

SchedulerOptions Limited(test::GridPoint point, uint32_t most) {
    SchedulerOptions options = test::Options(point);
    test::LimitLow(options, most);
    return options;
}

}  // namespace

TEST_CASE("runsLow: the limit of Low tasks holds, and all of them run", "[low_limit][grid]") {
    uint32_t points = 0;
    for (const test::GridPoint &point : test::Grid()) {
        const uint32_t most = 1 + points++ % 2;
        INFO(test::Describe(point) << ", " << most << " of them Low");
        Gauge gauge;
        std::atomic<uint32_t> normalRan{0};
        test::Batch low(18, [&](TaskScheduler &, uint32_t) {
            gauge.Enter();
            test::Linger(3);
            gauge.Leave();
        });
        test::Batch normal(18, [&](TaskScheduler &, uint32_t) { normalRan.fetch_add(1); });
        test::Runner runner(Limited(point, most));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(18, low.Tasks(), &counter, test::kLow);
            for (uint32_t i = 0; i < 18; ++i) scheduler.AddTask(normal[i], &counter);
            scheduler.WaitForCounter(&counter);
            scheduler.AddTasksAndWait(18, low.Tasks(), test::kLow);
        }) == Status::Ok);
        CHECK(gauge.ran.load() == 36);
        CHECK(normalRan.load() == 18);
        CHECK(gauge.most.load() <= most);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("runsLow: a worker of other groups leaves its own Low tasks to them",
          "[low_limit][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        if (point.workers < 2) continue;
        INFO(test::Describe(point));
        std::atomic<uint32_t> ran{0}, elsewhere{0};
        test::Batch low(18, [&](TaskScheduler &scheduler, uint32_t) {
            if (scheduler.CurrentWorker() != 0) elsewhere.fetch_add(1);
            ran.fetch_add(1);
        });
        test::Batch submitter(1, [&](TaskScheduler &scheduler, uint32_t) {
            Counter counter;
            for (uint32_t i = 0; i < 18; ++i) scheduler.AddTask(low[i], &counter, test::kLow);
            scheduler.WaitForCounter(&counter);
        });
        TaskOptions last;
        last.worker = point.workers - 1;
        test::Runner runner(Limited(point, 1));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(1, submitter.Tasks(), last);
        }) == Status::Ok);
        CHECK(ran.load() == 18);
        CHECK(elsewhere.load() == 0);
        CHECK(runner.log.Text() == "");
    }
}

// All Low tasks become ready at once.
TEST_CASE("runsLow: the limit holds for Low tasks that wait and continue", "[low_limit][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        Gauge gauge;
        Counter gate(1);
        std::atomic<uint32_t> waiting{0};
        test::Batch low(12, [&](TaskScheduler &scheduler, uint32_t i) {
            waiting.fetch_add(1);
            scheduler.WaitForCounter(&gate, 0, i == 0 ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
            if (i != 0) gauge.Enter();  // task 0 is pinned, so no limit holds for it
            test::Linger(20);
            if (i != 0) gauge.Leave();
            scheduler.Yield();
            test::Batch inner(3, [](TaskScheduler &, uint32_t) {});
            scheduler.AddTasksAndWait(3, inner.Tasks(), test::kLow);
        });
        test::Runner runner(Limited(point, 1));
        bool met = false;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            for (uint32_t i = 0; i < 12; ++i) scheduler.AddTask(low[i], &counter, test::kLow);
            met = test::YieldUntil(scheduler, [&] { return waiting.load() == 12; });
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(met);
        CHECK(gauge.ran.load() == 11);
        CHECK(gauge.most.load() == 1);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("runsLow: the limit holds for Low tasks that wait for Low ones", "[low_limit][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        Gauge gauge;
        test::Batch leaf(1, [](TaskScheduler &, uint32_t) {});
        test::Batch low(20, [&](TaskScheduler &scheduler, uint32_t) {
            gauge.Enter();
            gauge.Leave();
            Counter counter;
            scheduler.AddTask(leaf[0], &counter, test::kLow);
            scheduler.WaitForCounter(&counter);
        });
        test::Runner runner(Limited(point, 1));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(20, low.Tasks(), &counter, test::kLow);
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(gauge.ran.load() == 20);
        CHECK(gauge.most.load() == 1);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("runsLow: one fiber is enough for Low tasks that wait for higher ones", "[low_limit]") {
    for (const Priority priority : {Priority::High, Priority::Normal}) {
        for (const bool waitsLater : {false, true}) {
            for (const uint32_t workers : {2u, 3u}) {
                INFO("priority " << static_cast<int>(priority) << ", waits later: " << waitsLater
                                 << ", workers: " << workers);
                SchedulerOptions options;
                options.workers = workers;
                options.fibers = 1;
                test::LimitLow(options, 1);
                TaskOptions higher;
                higher.priority = priority;
                std::atomic<uint32_t> ran{0};
                uint32_t beyond = 0;
                test::Batch inner(5, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
                // The main task waits for another counter. So it runs none of them inline.
                Counter over(1);
                test::Batch low(1, [&](TaskScheduler &scheduler, uint32_t) {
                    if (waitsLater) {
                        Counter counter;
                        scheduler.AddTasks(5, inner.Tasks(), &counter, higher);
                        scheduler.WaitForCounter(&counter);
                    } else {
                        scheduler.AddTasksAndWait(5, inner.Tasks(), higher);
                    }
                    beyond += scheduler.CurrentWorker() != 0;
                    scheduler.DecrementCounter(&over);
                });
                test::Runner runner(options);
                CHECK(runner.Run([&](TaskScheduler &scheduler) {
                    for (uint32_t round = 0; round < 20; ++round) {
                        if (round != 0) scheduler.IncrementCounter(&over, 1);
                        scheduler.AddTask(low[0], nullptr, test::kLow);
                        scheduler.WaitForCounter(&over);
                    }
                }) == Status::Ok);
                CHECK(ran.load() == 100);
                CHECK(beyond == 0);
                CHECK(runner.log.Text() == "");
            }
        }
    }
}
