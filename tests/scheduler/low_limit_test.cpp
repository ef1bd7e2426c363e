#include "weft/task_scheduler.h"

#include "support/low_groups.h"
#include "support/quiet_run.h"
#include "support/spin.h"

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
        SchedulerOptions options = test::Options(point);
        test::LimitLow(options, most);
        test::RunQuietly(options, [&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(18, low.Tasks(), &counter, test::kLow);
            for (uint32_t i = 0; i < 18; ++i) scheduler.AddTask(normal[i], &counter);
            scheduler.WaitForCounter(&counter);
            scheduler.AddTasksAndWait(18, low.Tasks(), test::kLow);
        });
        CHECK(gauge.ran.load() == 36);
        CHECK(normalRan.load() == 18);
        CHECK(gauge.most.load() <= most);
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
                const TaskOptions higher{priority};
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
                test::RunQuietly(options, [&](TaskScheduler &scheduler) {
                    for (uint32_t round = 0; round < 20; ++round) {
                        if (round != 0) scheduler.IncrementCounter(&over, 1);
                        scheduler.AddTask(low[0], nullptr, test::kLow);
                        scheduler.WaitForCounter(&over);
                    }
                });
                CHECK(ran.load() == 100);
                CHECK(beyond == 0);
            }
        }
    }
}
