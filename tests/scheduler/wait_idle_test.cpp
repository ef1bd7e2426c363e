#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WaitIdle: several threads, each waits for its own uncounted tasks",
          "[external][wait_idle]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> wrong{0};
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        runner.scheduler.WaitIdle();  // nothing was ever pending
        test::Threads threads(4, [&](uint32_t self) {
            for (uint32_t round = 0; round < 10; ++round) {
                test::Marks marks(1 + (self * 11 + round * 17) % 65);
                runner.scheduler.AddTasks(marks.Count(), marks.Tasks());
                runner.scheduler.WaitIdle();
                wrong.fetch_add(marks.Wrong());
            }
        });
        threads.Join();
        runner.scheduler.Stop();
        CHECK(wrong.load() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WaitIdle: tasks in WaitIdle do not wait for each other", "[external][wait_idle]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        for (test::Life life : {test::Life::Run, test::Life::Start}) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            test::Runner runner(point);
            std::atomic<uint32_t> wrong{0}, back{0};
            test::Batch idlers(20, [&](TaskScheduler &scheduler, uint32_t i) {
                test::Marks children(i * 3);
                scheduler.AddTasks(children.Count(), children.Tasks());
                scheduler.WaitIdle();
                wrong.fetch_add(children.Wrong());
                back.fetch_add(1);
            });
            const auto atOnce = [&](TaskScheduler &scheduler) {
                test::Threads threads(3, [&](uint32_t) {
                    scheduler.AddTasks(20, idlers.Tasks());
                    scheduler.WaitIdle();
                });
            };
            if (life == test::Life::Start) {
                REQUIRE(test::WhileItRuns(runner, life, atOnce) == Status::Ok);
            } else {  // the main task is pending, too, so it must call WaitIdle itself
                std::atomic<bool> ended{false};
                std::thread host;
                CHECK(runner.Run([&](TaskScheduler &scheduler) {
                    host = std::thread([&] {
                        atOnce(scheduler);
                        ended.store(true);
                    });
                    while (!ended.load()) scheduler.WaitIdle();
                }) == Status::Ok);
                host.join();
            }
            CHECK(back.load() == 60);
            CHECK(wrong.load() == 0);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("WaitIdle: waits for waiting tasks, and for tasks that they submit later",
          "[external][wait_idle]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (int round = 0; round < 20; ++round) {
            test::Runner runner(test::Options(workers));
            Counter gate(1);
            test::Marks later(50);
            test::Batch waiter(1, [&](TaskScheduler &scheduler, uint32_t) {
                scheduler.WaitForCounter(&gate);
                scheduler.AddTasks(50, later.Tasks());
            });
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            runner.scheduler.AddTask(waiter[0]);
            std::thread opener([&] {
                test::Linger(round * 10);
                runner.scheduler.DecrementCounter(&gate);
            });
            runner.scheduler.WaitIdle();
            REQUIRE(later.Wrong() == 0);
            opener.join();
            runner.scheduler.Stop();
            REQUIRE(test::Faults(runner.log) == "");
        }
    }
}
