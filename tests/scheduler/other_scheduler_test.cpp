// Tasks that wait for counters of another scheduler.
#include "weft/time.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <chrono>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("other scheduler: a task that waits there leaves its fiber", "[other]") {
    test::Runner ours(test::Options(1)), others(test::Options(1));
    REQUIRE(others.scheduler.Start() == Status::Ok);
    Counter counter;
    std::atomic<uint32_t> wrong{0};
    bool isEarly = true;
    CHECK(ours.Run([&](TaskScheduler &scheduler) {
        others.scheduler.IncrementCounter(&counter);
        // There is one worker. While tasks on it wait for the other scheduler, others run.
        test::Batch tasks(8, [&](TaskScheduler &, uint32_t) {
            others.scheduler.WaitForCounter(&counter);
            wrong.fetch_add(!counter.IsZero());
        });
        Counter waiters;
        scheduler.AddTasks(8, tasks.Tasks(), &waiters);
        isEarly = WaitForCounterFor(others.scheduler, &counter, std::chrono::milliseconds(1));
        scheduler.Yield();
        others.scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&waiters);
    }) == Status::Ok);
    others.scheduler.Stop();
    CHECK_FALSE(isEarly);
    CHECK(wrong.load() == 0);
    CHECK(ours.log.Text() == "");
    CHECK(others.log.Text() == "");
}

TEST_CASE("other scheduler: two schedulers wait for each other in a circle", "[other]") {
    for (const uint32_t workers : {1u, 2u}) {
        test::Runner one(test::Options(workers)), two(test::Options(workers));
        REQUIRE(one.scheduler.Start() == Status::Ok);
        REQUIRE(two.scheduler.Start() == Status::Ok);
        std::atomic<uint32_t> ran{0};
        test::Batch leaf(4, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        const auto nest = [&](TaskScheduler &to) { to.AddTasksAndWait(4, leaf.Tasks()); };
        test::Batch inTwo(8, [&](TaskScheduler &, uint32_t) { nest(one.scheduler); });
        test::Batch inOne(
            8, [&](TaskScheduler &, uint32_t) { two.scheduler.AddTasksAndWait(8, inTwo.Tasks()); });
        one.scheduler.AddTasksAndWait(8, inOne.Tasks());
        CHECK(ran.load() == 8 * 8 * 4);
        one.scheduler.Stop();
        two.scheduler.Stop();
        CHECK(one.log.Text() == "");
        CHECK(two.log.Text() == "");
    }
}
